import type { Profile } from './engine.ts'

/** What a person or a planner wants to know about an adapter. */
export interface DeviceFacts {
  readonly vendor: string
  readonly architecture: string
  readonly description: string
  readonly maxBindingBytes: number
  readonly maxBufferBytes: number
  readonly profile: Profile
}

export interface OpenedDevice {
  readonly device: GPUDevice
  readonly facts: DeviceFacts
  readonly profile: Profile
}

export interface OpenDeviceOptions {
  readonly profile?: 'auto' | Profile
  /** Hears of GPU validation and memory errors, which WebGPU does not throw. */
  readonly onError?: (message: string) => void
}

/** Adapters that run shaders on the CPU: a barrier costs them microseconds. */
const CPU_ADAPTERS = /swiftshader|llvmpipe|lavapipe|warp|basic render|software/i

/**
 * Opens the adapter with all the buffer sizes that it has.
 * @throws a sentence when there is no WebGPU or no adapter.
 */
export async function openDevice(gpu: GPU | undefined, options: OpenDeviceOptions = {}): Promise<OpenedDevice> {
  if (!gpu) throw new Error('Cannot compute: this browser has no WebGPU, need a recent Chrome, Edge, Firefox or Safari on a secure (https or localhost) page')
  const adapter = await gpu.requestAdapter({ powerPreference: 'high-performance' })
  if (!adapter) throw new Error('Cannot compute: WebGPU has no adapter here, need hardware acceleration switched on in the browser settings')
  const { limits } = adapter
  const features = (['subgroups', 'timestamp-query'] as const).filter((feature) => adapter.features.has(feature))
  const device = await adapter.requestDevice({
    requiredFeatures: features,
    requiredLimits: {
      maxBufferSize: limits.maxBufferSize,
      maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
    },
  })
  device.addEventListener('uncapturederror', (event) => options.onError?.(event.error.message))
  const { vendor, architecture, description, device: model } = adapter.info
  const isCpu = CPU_ADAPTERS.test(`${vendor} ${architecture} ${description} ${model}`) || adapter.info.isFallbackAdapter
  const profile = options.profile && options.profile !== 'auto' ? options.profile : isCpu ? 'lane' : 'shared'
  const facts = { vendor, architecture, description: description || model, maxBindingBytes: limits.maxStorageBufferBindingSize, maxBufferBytes: limits.maxBufferSize, profile }
  return { device, facts, profile }
}
