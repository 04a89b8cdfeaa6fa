import { expect, it } from 'vitest'
import { resolveOptions } from '../protocol/presets.ts'
import { chosenOptions } from './chosen-options.ts'

it('what was chosen over a preset makes the same options again', () => {
  for (const raw of [{ preset: 'none' }, { preset: 'book', learning_rate: '1e-4', n_layer: 2 }, { preset: 'tiny', eval_strategy: 'no' }]) {
    const options = resolveOptions(raw)
    expect(resolveOptions(chosenOptions(options))).toEqual(options)
  }
})

it('a preset’s values give way to the next choice instead of contradicting it', () => {
  const chosen = chosenOptions(resolveOptions({ preset: 'book', seed: 7 }))
  expect(chosen).toEqual({ preset: 'book', seed: 7 })
  expect(resolveOptions({ ...chosen, eval_strategy: 'no' }).eval_steps).toBeNull()
  expect(resolveOptions({ ...chosen, lr_scheduler_type: 'constant' }).warmup_ratio).toBe(0)
})
