import { create, globals } from 'webgpu'
import { Engine, type Profile } from '../engine.ts'
import { openDevice } from '../open-device.ts'

/** Lives as long as the process: Dawn crashes when its instance is collected while a device is in use. */
const instance = create([])

export interface TestEngineOptions {
  readonly poison?: boolean
}

/**
 * An engine on Dawn in Node; needs VK_ICD_FILENAMES to name SwiftShader's ICD. Dawn keeps a core busy until the device is
 * destroyed: close the engine in afterAll. GPU validation errors end the test process: nothing may hide them.
 */
export async function openTestEngine(profile: Profile, options: TestEngineOptions = {}): Promise<Engine> {
  Object.assign(globalThis, globals)
  const opened = await openDevice(instance, {
    profile,
    onError: (message) => {
      throw new Error(`GPU error: ${message}`)
    },
  })
  return new Engine(opened.device, { profile, poison: options.poison ?? false })
}
