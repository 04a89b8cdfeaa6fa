/** One thing that a page needs, and what to do when it is missing. */
export interface PreflightItem {
  readonly id: 'secure' | 'webgpu' | 'adapter' | 'webrtc' | 'worker'
  readonly ok: boolean
  /** What is there, or what is missing. */
  readonly sentence: string
  /** What to do; empty when it is there. */
  readonly fix: string
}

/** The browser's parts that are looked at; a test hands in broken ones. */
export interface PreflightPorts {
  readonly secure: boolean
  readonly gpu: GPU | undefined
  readonly webrtc: boolean
  readonly worker: boolean
}

export function browserPorts(): PreflightPorts {
  return {
    secure: isSecureContext,
    gpu: 'gpu' in navigator ? navigator.gpu : undefined,
    webrtc: 'RTCPeerConnection' in globalThis,
    worker: 'Worker' in globalThis,
  }
}

/** Looks at everything that a rank needs, in the order in which a person would mend it. */
export async function runPreflight(ports: PreflightPorts): Promise<PreflightItem[]> {
  const { secure, gpu, webrtc, worker } = ports
  const item = (id: PreflightItem['id'], ok: boolean, good: string, bad: string, fix: string): PreflightItem => ({ id, ok, sentence: ok ? good : bad, fix: ok ? '' : fix })
  return [
    item(
      'secure',
      secure,
      'The page is secure.',
      'The page is not secure, so the browser hides WebGPU.',
      'Open it over https, or as http://localhost on the computer that serves it.',
    ),
    item(
      'webgpu',
      gpu !== undefined,
      'The browser has WebGPU.',
      'The browser has no WebGPU.',
      'Use a recent Chrome, Edge, Firefox or Safari; on Linux, Chrome may need chrome://flags/#enable-unsafe-webgpu.',
    ),
    await adapterItem(gpu),
    item(
      'webrtc',
      webrtc,
      'Direct connections (WebRTC) are there.',
      'Direct connections (WebRTC) are switched off.',
      'Allow WebRTC in the browser settings, or switch off the extension that blocks it.',
    ),
    item('worker', worker, 'Background computing (Workers) is there.', 'Background computing (Workers) is missing.', 'Use a recent Chrome, Edge, Firefox or Safari.'),
  ]
}

async function adapterItem(gpu: GPU | undefined): Promise<PreflightItem> {
  const adapter = await gpu?.requestAdapter().catch(() => null)
  if (!adapter) {
    return {
      id: 'adapter',
      ok: false,
      sentence: 'No graphics adapter answers.',
      fix: 'Switch hardware acceleration on in the browser settings, update the graphics driver, then restart the browser.',
    }
  }
  const { vendor, architecture, description } = adapter.info
  const name = [vendor, architecture].filter(Boolean).join(' ') || description || 'a graphics adapter'
  const megabytes = Math.floor(adapter.limits.maxStorageBufferBindingSize / 2 ** 20)
  return { id: 'adapter', ok: true, sentence: `Computes on ${name}, tensors up to ${megabytes} MiB.`, fix: '' }
}
