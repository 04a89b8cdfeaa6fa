import type { TrainingOptions } from '../protocol/options.ts'
import { bpeTokenizer } from './bpe-tokenizer.ts'
import { type BpeTraining, trainBpe } from './bpe-trainer.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { charTokenizer } from './char-tokenizer.ts'
import type { Tokenizer } from './tokenizer.ts'

/** The tokenizer that the options ask for; a `bpe` one is trained on the text, in slices. */
export async function buildTokenizer(options: Pick<TrainingOptions, 'tokenizer' | 'vocab_size'>, text: string, training: BpeTraining = {}): Promise<Tokenizer> {
  switch (options.tokenizer) {
    case 'byte':
      return byteTokenizer()
    case 'char':
      return charTokenizer(text)
    case 'bpe':
      return bpeTokenizer(await trainBpe(text, options.vocab_size, training))
    case 'file':
      throw new Error('Cannot tokenise: there is no tokenizer.json, need the one of the model, rows of input_ids, or tokenizer byte, char or bpe')
    default:
      return options.tokenizer satisfies never
  }
}

/** What generated texts continue: the option's prompt, a new line when it is empty. Never without a token. */
export function promptIds(tokenizer: Tokenizer, options: Pick<TrainingOptions, 'sample_prompt'>): number[] {
  return Array.from(tokenizer.encode(options.sample_prompt === '' ? '\n' : options.sample_prompt))
}
