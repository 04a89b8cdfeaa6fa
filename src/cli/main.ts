import { Command, CommanderError, Option } from 'commander'
import { type OptionField, type OptionGroup, OptionError, optionFields } from '../protocol/options.ts'
import { resolveOptions } from '../protocol/presets.ts'
import { adapterStart } from './adapter-start.ts'
import { merge } from './merge-command.ts'
import { modelStart } from './model-start.ts'
import { type RawOptions, resumeFrom, type RunStart } from './run-start.ts'
import { serve } from './serve-command.ts'
import { train } from './train-command.ts'

/** Exit codes: 0 done, 1 failed, 2 the command line does not make sense. */
const EXIT_FAILED = 1
const EXIT_USAGE = 2

const GROUPS: Readonly<Record<OptionGroup, string>> = {
  run: 'Run',
  data: 'Data',
  model: 'Model',
  tuning: 'LoRA and frozen parameters',
  optimizer: 'Optimizer',
  schedule: 'Learning-rate schedule',
  evaluation: 'Evaluation',
  samples: 'Generated text',
  ranks: 'Ranks and ring',
}

/** Options of the commands themselves; all others go through the schema of run options. */
interface TrainFlags {
  readonly ranks: string
  readonly compute_here: string
  readonly train_file?: string
  readonly validation_file?: string
  readonly model?: string
  readonly adapter?: string
  readonly resume_from_checkpoint?: string
  readonly overwrite_output_dir: string
}

interface EvalFlags {
  readonly model: string
  readonly adapter?: string
  readonly eval_file: string
  readonly ranks: string
}

interface MergeFlags {
  readonly model?: string
  readonly adapter: string
  readonly output_dir: string
  readonly overwrite_output_dir: string
}

/** Runs a command line and ends the process; a failure is one sentence on stderr. */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    await program().parseAsync([...argv], { from: 'user' })
    exit(0)
  } catch (cause) {
    if (cause instanceof CommanderError && HELP.has(cause.code)) return exit(cause.exitCode === 0 ? 0 : EXIT_USAGE)
    process.stderr.write(`${sentence(cause)}\n`)
    exit(cause instanceof OptionError || cause instanceof CommanderError ? EXIT_USAGE : EXIT_FAILED)
  }
}

function exit(code: number): void {
  process.exit(code)
}

/** Commander ends this way when it has printed the help. */
const HELP: ReadonlySet<string> = new Set(['commander.help', 'commander.helpDisplayed'])

function sentence(cause: unknown): string {
  if (cause instanceof CommanderError) return usageSentence(cause)
  return cause instanceof Error ? cause.message : String(cause)
}

/** Commander's own messages name what is wrong between quotes, but neither what is there nor what is allowed. */
function usageSentence({ code, message }: CommanderError): string {
  const [, named = ''] = /'([^']*)'/.exec(message) ?? []
  const [name = ''] = named.replace(/^--?/, '').split(' ')
  if (code === 'commander.unknownCommand') return `Cannot run ${named}: there is no such command, need serve, train, eval or merge`
  if (code === 'commander.unknownOption') return `Cannot set ${name}: there is no such option, need one that --help lists`
  if (code !== 'commander.optionMissingArgument') return `Cannot read the command line: ${message.replace(/^error: /, '')}`
  const allowed = optionFields.find((field) => field.name === name)?.allowed
  return `Cannot set ${name}: it has no value, need ${allowed ?? named}`
}

function program(): Command {
  const root = new Command('tabring')
    .description('Train a language model across browser tabs')
    .exitOverride()
    .configureOutput({ outputError: () => {} })
  root
    .command('serve')
    .description('serve the coordinator page with its broker')
    .option('--port <number>', 'port to listen on', '5173')
    .option('--host', 'listen on the network too, not only on this computer')
    .action(({ port, host }: { port: string; host?: boolean }) => serve({ port: wholeNumber('port', port, 0, 65_535), host: host ?? false }))
  root.addCommand(trainCommand(root))
  root.addCommand(evalCommand(root))
  root.addCommand(mergeCommand(root))
  return root
}

function trainCommand(root: Command): Command {
  const command = new Command('train')
    .copyInheritedSettings(root)
    .description('train in headless tabs and write the model folder')
    .option('--ranks <number>', 'tabs that train', '2')
    .addOption(new Option('--compute_here [value]', "whether the coordinator's tab is one of them").preset('true').default('true'))
    .option('--train_file <path>', 'text, or rows in JSONL, JSON or CSV, to train on instead of the bundled book')
    .option('--validation_file <path>', 'data to evaluate on, instead of a part of the training data')
    .option('--model <folder>', 'Hugging Face folder whose weights training starts from, instead of random ones')
    .option('--adapter <folder>', 'LoRA adapter of the model that is trained further')
    .addOption(new Option('--resume_from_checkpoint [folder]', 'checkpoint to go on from; without a folder, the newest in output_dir').preset('true'))
    .addOption(new Option('--overwrite_output_dir [value]', 'whether to write into output_dir although it holds something').preset('true').default('false'))
    .allowUnknownOption()
    .allowExcessArguments()
  for (const field of optionFields) command.addOption(commandOption(field))
  return command.action(async (all: TrainFlags & Record<string, unknown>) => {
    refuseRest(command.args)
    const { ranks, compute_here, train_file, validation_file, overwrite_output_dir, resume_from_checkpoint: resume, model, adapter, ...raw } = all
    const start = startFrom({ resume: resume === 'false' ? undefined : resume, model, adapter }, raw)
    await train({
      task: 'train',
      ranks: wholeNumber('ranks', ranks, 1, 64),
      computeHere: yesOrNo('compute_here', compute_here),
      trainFile: train_file ?? null,
      validationFile: validation_file ?? null,
      overwrite: yesOrNo('overwrite_output_dir', overwrite_output_dir),
      options: start?.options ?? resolveOptions(raw),
      start,
    })
  })
}

function evalCommand(root: Command): Command {
  const command = new Command('eval')
    .copyInheritedSettings(root)
    .description('print loss, items and perplexity of a model on a file')
    .requiredOption('--model <folder>', 'Hugging Face folder')
    .option('--adapter <folder>', 'LoRA adapter of the model')
    .requiredOption('--eval_file <path>', 'text, or rows in JSONL, JSON or CSV')
    .option('--ranks <number>', 'tabs that compute', '1')
    .allowUnknownOption()
    .allowExcessArguments()
  for (const field of optionFields) command.addOption(commandOption(field))
  return command.action(async ({ model, adapter, eval_file, ranks, ...raw }: EvalFlags & Record<string, unknown>) => {
    refuseRest(command.args)
    const start = adapter === undefined ? modelStart(model, raw) : adapterStart({ model, adapter }, raw)
    const common = { computeHere: true, validationFile: null, overwrite: false, options: start.options, start }
    await train({ task: 'eval', ranks: wholeNumber('ranks', ranks, 1, 64), trainFile: eval_file, ...common })
  })
}

function mergeCommand(root: Command): Command {
  return new Command('merge')
    .copyInheritedSettings(root)
    .description('add a LoRA adapter to the weights of its model')
    .option('--model <folder>', 'Hugging Face folder of the model; without it, the one that the adapter names')
    .requiredOption('--adapter <folder>', 'folder with adapter_config.json and adapter_model.safetensors')
    .requiredOption('--output_dir <folder>', 'folder for the merged model')
    .addOption(new Option('--overwrite_output_dir [value]', 'whether to write into output_dir although it holds something').preset('true').default('false'))
    .action(({ model, adapter, output_dir, overwrite_output_dir }: MergeFlags) =>
      merge({ model: model ?? null, adapter, outputDir: output_dir, overwrite: yesOrNo('overwrite_output_dir', overwrite_output_dir) }),
    )
}

interface StartFlags {
  readonly resume: string | undefined
  readonly model: string | undefined
  readonly adapter: string | undefined
}

function startFrom({ resume, model, adapter }: StartFlags, raw: RawOptions): RunStart | null {
  if (resume !== undefined && adapter !== undefined) throw new OptionError('adapter', adapter, { allowed: 'none, because a checkpoint brings its own' })
  if (resume !== undefined) return resumeFrom(resume, raw, { model })
  if (adapter !== undefined) return adapterStart({ model, adapter }, raw)
  return model === undefined ? null : modelStart(model, raw)
}

/** What is no option of the command is refused by the schema, which knows the nearest name. */
function refuseRest([first, second]: readonly string[]): void {
  if (first === undefined) return
  const [, name, value] = /^--?([^=]+)(?:=(.*))?$/s.exec(first) ?? []
  if (name !== undefined) resolveOptions({ [name]: value ?? second ?? '' })
  throw new OptionError('command line', first, { allowed: '', message: `Cannot read ${JSON.stringify(first)}: it is no option, need --name value` })
}

/** The names are HF's, with underscores; commander would make camels of dashes only. As in HF, a boolean alone means true. */
function commandOption({ name, kind, help, allowed, group, default: fallback }: OptionField): Option {
  const about = `${help} Need ${allowed}.${fallback === null || fallback === '' ? '' : ` Default without a preset: ${fallback}.`}`
  const option = kind === 'boolean' ? new Option(`--${name} [value]`, about).preset('true') : new Option(`--${name} <value>`, about)
  return option.helpGroup(`${GROUPS[group]}:`)
}

/** Written as options of the schema are. */
function yesOrNo(name: string, text: string): boolean {
  if (text === 'true' || text === '1') return true
  if (text === 'false' || text === '0') return false
  throw new OptionError(name, text, { allowed: 'true or false' })
}

function wholeNumber(name: string, text: string, min: number, max: number): number {
  const value = Number(text)
  if (!Number.isInteger(value) || value < min || value > max) throw new OptionError(name, text, { allowed: `a whole number from ${min} to ${max}` })
  return value
}
