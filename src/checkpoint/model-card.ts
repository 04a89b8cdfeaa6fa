import { familyWords } from './family-words.ts'
import { formatGeneral } from '../protocol/format-general.ts'
import type { TrainingOptions } from '../protocol/options.ts'
import type { InitialState } from '../protocol/room-messages.ts'
import type { EvaluationRecord, StepRecord } from '../protocol/step-record.ts'

export interface ModelCardFacts {
  /** As in config.json. */
  readonly modelType: string
  /** Of a LoRA adapter; null or missing for a whole model. */
  readonly adapter?: { readonly baseModel: string | null } | null
  readonly options: TrainingOptions
  readonly startedFrom: InitialState['from']
  readonly source: { readonly name: string; readonly amount: number; readonly unit: 'characters' | 'rows' }
  readonly vocabSize: number
  readonly parameters: number
  readonly records: readonly StepRecord[]
  readonly evaluations: readonly EvaluationRecord[]
}

const TOKENS: Readonly<Record<TrainingOptions['tokenizer'], string>> = { byte: 'bytes', char: 'characters', bpe: 'byte-level BPE tokens', file: "the model's own tokens" }

/** A checkpoint does not tell how its run began. */
const ORIGINS: Readonly<Record<InitialState['from'], string>> = { seed: 'from random weights ', weights: 'from the weights of another model ', checkpoint: '' }

/** README.md of an exported model: data, steps, losses, and how to load it. */
export function modelCard(facts: ModelCardFacts): string {
  const { modelType, adapter = null, options, source, vocabSize, parameters, records } = facts
  return `---
${adapter ? `library_name: peft\n${adapter.baseModel === null ? '' : `base_model: ${JSON.stringify(adapter.baseModel)}\n`}` : 'library_name: transformers\n'}pipeline_tag: text-generation
tags:
- ${modelType}
- tabring
---

# ${adapter ? `A LoRA adapter of ${familyWords(modelType).replace(/^A /, 'a ')}` : familyWords(modelType)} trained on ${plain(source.name)}

Trained ${ORIGINS[facts.startedFrom]}in browser tabs with Tabring.

| | |
|---|---|
| Data | ${plain(source.name)}, ${grouped(source.amount)} ${source.unit} |
| Tokens | ${TOKENS[options.tokenizer]}, a vocabulary of ${grouped(vocabSize)} |
| Model | ${grouped(parameters)} parameters: ${options.n_layer} layers, width ${options.n_embd}, ${options.n_head} heads, ${options.block_size} positions |
${adapter ? adapterRow(options) : ''}| Training | ${training(records)} |
| Optimizer | ${options.optim === 'sgd' ? 'SGD' : 'AdamW'}, learning rate ${formatGeneral(options.learning_rate)} (${options.lr_scheduler_type}), weight decay ${formatGeneral(options.weight_decay)}, gradient norm at most ${formatGeneral(options.max_grad_norm)} |
${losses(facts)}
All options are in \`training_args.json\`, the losses of the run in \`trainer_state.json\`.

## Use

\`\`\`python
${adapter ? adapterUse(adapter.baseModel) : MODEL_USE}
inputs = tokenizer("The ", return_tensors="pt")
print(tokenizer.decode(model.generate(**inputs, max_length=${options.block_size})[0]))
\`\`\`
`
}

const MODEL_USE = `from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")  # this folder
model = AutoModelForCausalLM.from_pretrained(".")`

function adapterUse(baseModel: string | null): string {
  return `from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(".")  # this folder
model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained(${JSON.stringify(baseModel ?? 'the model that was adapted')}), ".")`
}

function adapterRow({ lora_r, lora_alpha, lora_dropout, use_rslora }: TrainingOptions): string {
  return `| Adapter | ${use_rslora ? 'rsLoRA' : 'LoRA'}, rank ${lora_r}, alpha ${formatGeneral(lora_alpha)}, dropout ${formatGeneral(lora_dropout)} |\n`
}

function training(records: readonly StepRecord[]): string {
  const last = records.at(-1)
  if (!last) return 'none: these are the initial weights'
  const skipped = records.filter(({ outcome }) => outcome !== 'committed').length
  const ranks = Math.max(...records.map((record) => record.ranks))
  return `${grouped(last.step)} updates (${formatGeneral(last.epoch)} epochs) on up to ${ranks} ${ranks === 1 ? 'rank' : 'ranks'}${skipped > 0 ? `, ${skipped} skipped` : ''}`
}

function losses({ records, evaluations, options }: ModelCardFacts): string {
  const last = records.findLast(({ outcome }) => outcome === 'committed')
  const evaluation = evaluations.at(-1)
  const unit = options.tokenizer === 'bpe' || options.tokenizer === 'file' ? 'nats per token' : `nats per ${options.tokenizer === 'char' ? 'character' : 'byte'}`
  const rows = last ? [`| Training loss | ${formatGeneral(last.loss)} ${unit} in the last update |`] : []
  if (evaluation) rows.push(`| Validation loss | ${formatGeneral(evaluation.eval_loss)} ${unit} after update ${grouped(evaluation.step)} |`)
  return rows.map((row) => `${row}\n`).join('')
}

function grouped(count: number): string {
  return count.toLocaleString('en-US')
}

/** A file's name within a Markdown table. */
function plain(name: string): string {
  return name.replace(/[\n\r]/g, ' ').replace(/[|`<>[\]*_\\]/g, (mark) => `\\${mark}`)
}
