import { type ConfigSource, flag, requireSupported } from './config-source.ts'
import type { DecoderConfig } from './decoder-config.ts'
import { UNSUPPORTED, llamaLike, qwenWindow } from './llama.ts'

/** As Qwen3Config has it. */
const HEAD_DIM = 128

/** Qwen3: Llama with an RMS norm of each query and key head, whose size stands apart from the width. */
export function qwen3Config(json: ConfigSource['json']): DecoderConfig {
  const source = { family: 'Qwen3', json }
  requireSupported(source, { ...UNSUPPORTED, model_type: ['qwen3'] })
  const attentionBias = flag(source, 'attention_bias', false)
  const like = llamaLike(source, { window: qwenWindow(source), kvHeads: 'required', headDim: HEAD_DIM })
  return { ...like, queryKeyNorm: true, qkvBias: attentionBias, attentionOutBias: attentionBias }
}
