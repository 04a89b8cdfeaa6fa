/** One thing that a page needs, and what to do when it is missing. */
export interface PreflightItem {
  readonly id: 'secure' | 'webgpu' | 'adapter' | 'limits' | 'webrtc' | 'worker'
  readonly ok: boolean
  /** What is there, or what is missing. */
  readonly sentence: string
  /** What to do; empty when it is there. */
  readonly fix: string
}

/** The browser's parts that are looked at; a test hands in broken ones. */
export interface PreflightPorts {
  readonly secure: boolean
  /** The page's own, to say what to open instead. */
  readonly origin: string
  readonly gpu: Pick<GPU, 'requestAdapter'> | undefined
  readonly webrtc: boolean
  readonly worker: boolean
  /** A driver that never answers must not leave the page waiting. */
  readonly deadlineMs: number
}

const ADAPTER_DEADLINE_MS = 15_000
const MIB = 2 ** 20
const BROWSERS = 'Use a recent Chrome, Edge, Firefox or Safari.'
/** WebGPU's default limits, which the kernels are designed to; only an adapter in compatibility mode has less. */
const NEEDED: readonly (readonly [limit: NumericLimit, needed: number, name: string, unit: string, scale: number])[] = [
  ['maxStorageBufferBindingSize', 128 * MIB, 'tensors', 'MiB', MIB],
  ['maxBufferSize', 256 * MIB, 'buffers', 'MiB', MIB],
  ['maxComputeWorkgroupStorageSize', 16_384, 'workgroup memory', 'KiB', 1_024],
  ['maxComputeInvocationsPerWorkgroup', 256, 'threads in a workgroup', '', 1],
  ['maxStorageBuffersPerShaderStage', 8, 'storage buffers in a shader', '', 1],
]
type NumericLimit = 'maxStorageBufferBindingSize' | 'maxBufferSize' | 'maxComputeWorkgroupStorageSize' | 'maxComputeInvocationsPerWorkgroup' | 'maxStorageBuffersPerShaderStage'

export function browserPorts(): PreflightPorts {
  return {
    secure: isSecureContext,
    origin: location.origin,
    gpu: 'gpu' in navigator ? navigator.gpu : undefined,
    webrtc: opensConnections(),
    worker: 'Worker' in globalThis,
    deadlineMs: ADAPTER_DEADLINE_MS,
  }
}

/** Looks at everything that a rank needs, in the order in which a person would mend it. Never rejects. */
export async function runPreflight(ports: PreflightPorts): Promise<PreflightItem[]> {
  const { secure, gpu, webrtc, worker } = ports
  return [
    secure ? good('secure', 'The page is secure.') : bad('secure', 'The page is not secure, so the browser hides WebGPU from it.', secureFix(ports.origin)),
    gpu ? good('webgpu', 'The browser has WebGPU.') : bad('webgpu', 'The browser has no WebGPU.', webgpuFix(secure)),
    ...(await adapterItems(gpu, ports.deadlineMs)),
    webrtc
      ? good('webrtc', 'Direct connections (WebRTC) are there.')
      : bad('webrtc', 'Direct connections (WebRTC) are switched off.', 'Allow WebRTC in the browser settings, or switch off the extension that blocks it.'),
    worker ? good('worker', 'Background computing (Workers) is there.') : bad('worker', 'Background computing (Workers) is missing.', BROWSERS),
  ]
}

async function adapterItems(gpu: PreflightPorts['gpu'], deadlineMs: number): Promise<PreflightItem[]> {
  if (!gpu) return [bad('adapter', 'Without WebGPU no graphics adapter can be asked.', 'Mend the point above first.')]
  const answer = await adapterOf(gpu, deadlineMs)
  if (answer === 'late') {
    return [bad('adapter', `The graphics driver did not answer within ${deadlineMs / 1000} seconds.`, 'Restart the browser; if that does not help, update the graphics driver.')]
  }
  if (!answer) {
    return [
      bad(
        'adapter',
        'No graphics adapter answers.',
        'Switch hardware acceleration on in the browser settings, update the graphics driver, then restart the browser. On Linux, Chrome may also need chrome://flags/#enable-unsafe-webgpu.',
      ),
    ]
  }
  return [good('adapter', adapterSentence(answer.info)), limitsItem(answer.limits)]
}

/** @returns null when there is none, 'late' when the driver keeps silent. */
async function adapterOf(gpu: Pick<GPU, 'requestAdapter'>, deadlineMs: number): Promise<GPUAdapter | null | 'late'> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(() => resolve('late'), deadlineMs)
  })
  const asked = gpu.requestAdapter().catch(() => null) // a refusal and no adapter have the same cure
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}

function adapterSentence({ vendor, architecture, description, isFallbackAdapter }: GPUAdapterInfo): string {
  const name = [vendor, architecture].filter(Boolean).join(' ') || description || 'a graphics adapter'
  const software = isFallbackAdapter || /swiftshader|llvmpipe|lavapipe|software/i.test(`${name} ${description}`)
  return software ? `Computes on the processor (${name}): it works, but a graphics card is faster.` : `Computes on ${name}.`
}

function limitsItem(limits: GPUSupportedLimits): PreflightItem {
  const short = NEEDED.filter(([limit, needed]) => limits[limit] < needed)
  if (short.length === 0) {
    const [binding, buffer, memory] = NEEDED.map(([limit, , name, unit, scale]) => `${name} up to ${Math.floor(limits[limit] / scale)} ${unit}`)
    return good('limits', `Room for ${binding}, ${buffer}, ${memory}.`)
  }
  const words = short.map(([limit, needed, name, unit, scale]) => `${name} up to ${Math.floor(limits[limit] / scale)}${unit && ` ${unit}`}, need ${needed / scale}`)
  return bad('limits', `The graphics adapter is too small: ${words.join('; ')}.`, 'Use a device with a newer graphics card, or update the browser and the graphics driver.')
}

function secureFix(origin: string): string {
  const secured = origin.startsWith('http:') ? `: ${origin.replace('http:', 'https:')} if the server speaks it` : ''
  return `Open it over https${secured}, or as http://localhost on the computer that serves it.`
}

function webgpuFix(secure: boolean): string {
  return secure
    ? 'Use a recent Chrome or Edge (113 or later), Safari (26 or later) or Firefox (141 or later on Windows). On Linux, Chrome may need chrome://flags/#enable-unsafe-webgpu.'
    : 'Open the page securely first; then look again.'
}

/** A policy may leave the name in place and forbid its use. */
function opensConnections(): boolean {
  if (!('RTCPeerConnection' in globalThis)) return false
  try {
    new RTCPeerConnection().close()
    return true
  } catch {
    return false
  }
}

function good(id: PreflightItem['id'], sentence: string): PreflightItem {
  return { id, ok: true, sentence, fix: '' }
}

function bad(id: PreflightItem['id'], sentence: string, fix: string): PreflightItem {
  return { id, ok: false, sentence, fix }
}
