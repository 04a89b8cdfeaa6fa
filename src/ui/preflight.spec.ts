import { describe, expect, it } from 'vitest'
import { type PreflightPorts, runPreflight } from './preflight.ts'

const limits = {
  maxStorageBufferBindingSize: 2 ** 27,
  maxBufferSize: 2 ** 28,
  maxComputeWorkgroupStorageSize: 16_384,
  maxComputeInvocationsPerWorkgroup: 256,
  maxStorageBuffersPerShaderStage: 8,
}
const info = { vendor: 'nvidia', architecture: 'ampere', description: '', isFallbackAdapter: false }

/** Only what the preflight reads of an adapter. */
function gpuOf(answer: unknown): PreflightPorts['gpu'] {
  return { requestAdapter: async () => answer as GPUAdapter | null }
}

const all: PreflightPorts = { secure: true, origin: 'https://tabring.test', gpu: gpuOf({ limits, info }), webrtc: true, worker: true, deadlineMs: 1_000 }

async function broken(ports: Partial<PreflightPorts>): Promise<Record<string, string>> {
  const items = await runPreflight({ ...all, ...ports })
  for (const { ok, sentence, fix } of items) {
    expect(sentence).toMatch(/^[A-Z].*\.$/)
    expect(fix).toMatch(ok ? /^$/ : /^[A-Z].*\.$/)
  }
  return Object.fromEntries(items.filter(({ ok }) => !ok).map(({ id, sentence, fix }) => [id, `${sentence} ${fix}`]))
}

describe('preflight', () => {
  it('has nothing to mend in a whole browser and names the adapter with its limits', async () => {
    expect(await broken({})).toEqual({})
    const sentences = (await runPreflight(all)).map(({ sentence }) => sentence)
    expect(sentences).toContain('Computes on nvidia ampere.')
    expect(sentences).toContain('Room for tensors up to 128 MiB, buffers up to 256 MiB, workgroup memory up to 16 KiB.')
  })

  it('sends a page that was opened over plain http to https or localhost', async () => {
    const { secure, webgpu } = await broken({ secure: false, origin: 'http://192.168.1.5:8080', gpu: undefined })
    expect(secure).toMatch(/not secure.*https:\/\/192\.168\.1\.5:8080.*http:\/\/localhost/)
    expect(webgpu).toMatch(/securely first/)
  })

  it('names browsers and the flag when there is no WebGPU', async () => {
    const { webgpu, adapter } = await broken({ gpu: undefined })
    expect(webgpu).toMatch(/no WebGPU.*Chrome.*chrome:\/\/flags/)
    expect(adapter).toMatch(/point above/)
  })

  it('says what to do when no adapter answers or the request is refused', async () => {
    const refusing: PreflightPorts['gpu'] = { requestAdapter: () => Promise.reject(new Error('blocked')) }
    for (const gpu of [gpuOf(null), refusing]) expect((await broken({ gpu }))['adapter']).toMatch(/No graphics adapter.*hardware acceleration/)
  })

  it('does not wait for a driver that keeps silent', async () => {
    const silent: PreflightPorts['gpu'] = { requestAdapter: () => new Promise(() => {}) }
    expect((await broken({ gpu: silent, deadlineMs: 20 }))['adapter']).toMatch(/did not answer within 0.02 seconds.*Restart/)
  })

  it('says which limit is too small, what it is and what is needed', async () => {
    const small = gpuOf({ info, limits: { ...limits, maxStorageBufferBindingSize: 2 ** 26, maxComputeInvocationsPerWorkgroup: 128 } })
    expect((await broken({ gpu: small }))['limits']).toMatch(/tensors up to 64 MiB, need 128; threads in a workgroup up to 128, need 256/)
  })

  it('says that a software adapter is slow, but lets it in', async () => {
    const software = gpuOf({ limits, info: { ...info, vendor: 'google', architecture: 'swiftshader' } })
    expect(await broken({ gpu: software })).toEqual({})
    expect((await runPreflight({ ...all, gpu: software })).find(({ id }) => id === 'adapter')?.sentence).toMatch(/processor \(google swiftshader\).*faster/)
  })

  it('names what blocks direct connections and Workers', async () => {
    expect(await broken({ webrtc: false, worker: false })).toEqual({ webrtc: expect.stringMatching(/extension/), worker: expect.stringMatching(/recent Chrome/) })
  })
})
