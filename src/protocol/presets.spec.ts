import { describe, expect, it } from 'vitest'
import { parseOptions } from './options.ts'
import { isPresetName, presets, resolveOptions } from './presets.ts'

describe('resolveOptions', () => {
  it('starts from the book preset', () => {
    expect(resolveOptions({})).toMatchObject({ preset: 'book', tokenizer: 'char', n_embd: 64, max_steps: 600 })
  })

  it('lets every preset parse', () => {
    for (const preset of Object.keys(presets)) expect(resolveOptions({ preset })).toMatchObject({ preset })
  })

  it('gives the defaults of Hugging Face for none', () => {
    expect(resolveOptions({ preset: 'none' })).toEqual(parseOptions({}))
  })

  it('lays what is given over the preset', () => {
    expect(resolveOptions({ preset: 'tiny', n_layer: '1' })).toMatchObject({ n_layer: 1, n_embd: 32 })
  })

  it('takes the epochs that are asked for instead of the updates of the preset', () => {
    expect(resolveOptions({ num_train_epochs: 2 })).toMatchObject({ num_train_epochs: 2, max_steps: -1 })
  })

  it('drops values of the preset that contradict what is given', () => {
    expect(resolveOptions({ eval_strategy: 'no' })).toMatchObject({ eval_strategy: 'no', eval_steps: null })
    expect(resolveOptions({ lr_scheduler_type: 'constant' })).toMatchObject({ warmup_ratio: 0, warmup_steps: 0 })
    expect(resolveOptions({ warmup_steps: 7 })).toMatchObject({ warmup_steps: 7, warmup_ratio: 0 })
    expect(resolveOptions({ save_steps: 7 })).toMatchObject({ save_steps: 7, save_strategy: 'steps' })
    expect(resolveOptions({ save_steps: 7, save_strategy: 'no' })).toMatchObject({ save_strategy: 'no' })
  })

  it('refuses a preset that does not exist', () => {
    expect(() => resolveOptions({ preset: 'huge' })).toThrow('Cannot set preset to "huge": need one of book, tiny, gpu, none')
    expect(isPresetName('toString')).toBe(false)
  })
})
