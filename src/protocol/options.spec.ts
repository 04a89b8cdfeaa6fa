import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { OptionError, optionFields, parseOptions } from './options.ts'

describe('parseOptions', () => {
  it('has the defaults of TrainingArguments', () => {
    expect(parseOptions({})).toMatchObject({
      per_device_train_batch_size: 8,
      per_device_eval_batch_size: 8,
      gradient_accumulation_steps: 1,
      learning_rate: 5e-5,
      weight_decay: 0,
      adam_beta1: 0.9,
      adam_beta2: 0.999,
      adam_epsilon: 1e-8,
      max_grad_norm: 1,
      num_train_epochs: 3,
      max_steps: -1,
      lr_scheduler_type: 'linear',
      warmup_steps: 0,
      warmup_ratio: 0,
      logging_steps: 500,
      logging_first_step: false,
      eval_strategy: 'no',
      eval_steps: null,
      seed: 42,
      output_dir: 'trainer_output',
      train_sampling_strategy: 'random',
      global_batch_size: null,
    })
  })

  it('reads the text of a URL or a command line', () => {
    const raw = { learning_rate: '1e-3', max_steps: ' 200 ', logging_first_step: 'true', n_inner: '', global_batch_size: 'none', lr_scheduler_type: 'cosine', weight_decay: '.1' }
    expect(parseOptions(raw)).toMatchObject({
      learning_rate: 1e-3,
      max_steps: 200,
      logging_first_step: true,
      n_inner: null,
      global_batch_size: null,
      lr_scheduler_type: 'cosine',
      weight_decay: 0.1,
    })
  })

  it.each([
    ['max_steps', 0, 'Cannot set max_steps to 0: need a whole number from 1 to 1000000000, or -1 for num_train_epochs'],
    ['max_steps', '1.5', 'Cannot set max_steps to "1.5": need a whole number from 1 to 1000000000, or -1 for num_train_epochs'],
    ['learning_rate', 'fast', 'Cannot set learning_rate to "fast": need a number from 0 to 100'],
    ['learning_rate', '', 'Cannot set learning_rate to "": need a number from 0 to 100'],
    ['learning_rate', Number.NaN, 'Cannot set learning_rate to NaN: need a number from 0 to 100'],
    ['learning_rate', '0x10', 'Cannot set learning_rate to "0x10": need a number from 0 to 100'],
    ['adam_beta2', 1, 'Cannot set adam_beta2 to 1: need a number from 0 below 1'],
    ['adam_epsilon', 0, 'Cannot set adam_epsilon to 0: need a number above 0 to 1'],
    ['block_size', 1, 'Cannot set block_size to 1: need a whole number from 2 to 16384'],
    ['tokenizer', 'words', 'Cannot set tokenizer to "words": need one of byte, char, bpe'],
    ['logging_first_step', 'maybe', 'Cannot set logging_first_step to "maybe": need true or false'],
    ['n_inner', 'wide', 'Cannot set n_inner to "wide": need a whole number from 1 to 65536, or nothing (4 x n_embd, or 8/3 where the MLP is gated)'],
    ['seed', -1, 'Cannot set seed to -1: need a whole number from 0 to 4294967295'],
  ])('refuses %s %j with its name, its value and what is allowed', (name, value, message) => {
    expect(() => parseOptions({ [name]: value })).toThrow(message)
  })

  it('suggests the nearest name for a typing mistake', () => {
    expect(() => parseOptions({ learning_rat: 1 })).toThrow('Cannot set learning_rat to 1: there is no such option, need learning_rate, the nearest name')
    expect(() => parseOptions({ 'max-steps': 1 })).toThrow('need max_steps')
  })

  it('lists the options when nothing is near', () => {
    expect(() => parseOptions({ constructor: 1 })).toThrow(/there is no such option, need one of preset, output_dir, /)
  })

  it('says which option an error is about', () => {
    const error = (raw: Record<string, unknown>): unknown => {
      try {
        return parseOptions(raw)
      } catch (cause) {
        return cause
      }
    }
    expect(error({ n_head: 'two' })).toMatchObject({ name: 'OptionError', option: 'n_head', value: 'two', allowed: 'a whole number from 1 to 256' })
  })

  it.each([
    [{ n_embd: 30, n_head: 4 }, 'Cannot set n_embd to 30: need a multiple of n_head, which is 4'],
    [{ eval_steps: 10 }, 'Cannot set eval_steps to 10: need eval_strategy to be steps, which is no'],
    [{ lora_r: 8 }, 'Cannot set lora_r to 8: need nothing, because use_peft is false: without it no adapter is trained'],
    [{ lora_target_modules: 'q_proj' }, 'Cannot set lora_target_modules to "q_proj": need nothing, because use_peft is false'],
    [{ use_rslora: true, use_peft: false }, 'Cannot set use_rslora to true: need nothing, because use_peft is false'],
    [{ max_steps: 10, warmup_steps: 11 }, 'Cannot set warmup_steps to 11: need at most max_steps, which is 10'],
    [{ warmup_steps: 1.5 }, 'Cannot set warmup_steps to 1.5: need a whole number, or a share below 1'],
    [{ lr_scheduler_type: 'constant', warmup_steps: 1 }, 'Cannot set lr_scheduler_type to "constant": need constant_with_warmup'],
  ])('refuses %j, which does not go together', (raw, message) => {
    expect(() => parseOptions(raw)).toThrow(message)
  })

  it('never throws anything but an OptionError, and gives back what it accepts', () => {
    const names = optionFields.map(({ name }) => name)
    const value = fc.oneof(fc.string(), fc.double(), fc.integer(), fc.boolean(), fc.constant(null), fc.double().map(String), fc.array(fc.integer()))
    fc.assert(
      fc.property(fc.constantFrom(...names), value, (name, given) => {
        try {
          const options = parseOptions({ [name]: given })
          expect(parseOptions({ ...options })).toEqual(options)
        } catch (cause) {
          expect(cause).toBeInstanceOf(OptionError)
        }
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('optionFields', () => {
  it('says everything that a form needs', () => {
    for (const field of optionFields) {
      expect(field.label).not.toBe('')
      expect(field.help).toMatch(/\.$/)
      expect(field.allowed).not.toBe('')
      expect(field.choices.length > 0).toBe(field.kind === 'choice')
    }
  })

  it('has the defaults that parsing gives', () => {
    const options = parseOptions({})
    for (const field of optionFields) expect(field.default).toBe(options[field.name])
  })

  it('knows which fields may be empty', () => {
    expect(optionFields.filter((field) => field.nullable).map(({ name }) => name)).toEqual([
      'save_total_limit',
      'num_key_value_heads',
      'n_inner',
      'global_batch_size',
      'eval_steps',
      'early_stopping_patience',
      'max_eval_samples',
    ])
  })
})
