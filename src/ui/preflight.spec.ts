import { describe, expect, it } from 'vitest'
import { type PreflightPorts, runPreflight } from './preflight.ts'

const nothing: PreflightPorts = { secure: false, gpu: undefined, webrtc: false, worker: false }

describe('preflight', () => {
  it('says a sentence and a fix for each thing that is missing', async () => {
    const items = await runPreflight(nothing)
    expect(items.map(({ id, ok }) => [id, ok])).toEqual([
      ['secure', false],
      ['webgpu', false],
      ['adapter', false],
      ['webrtc', false],
      ['worker', false],
    ])
    for (const { sentence, fix } of items) {
      expect(sentence).toMatch(/\.$/)
      expect(fix).toMatch(/\.$/)
    }
  })

  it('has no fix for what is there', async () => {
    const items = await runPreflight({ ...nothing, secure: true, webrtc: true, worker: true })
    expect(items.filter(({ ok }) => ok).map(({ id, fix }) => [id, fix])).toEqual([
      ['secure', ''],
      ['webrtc', ''],
      ['worker', ''],
    ])
  })
})
