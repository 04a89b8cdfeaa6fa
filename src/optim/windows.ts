import type { Engine } from '../engine/engine.ts'

/** A part of a flat buffer that one binding can hold. */
export interface Window {
  /** First element. */
  readonly offset: number
  readonly length: number
}

/** Window starts stay aligned for whatever is kept per element, per 64 elements or per workgroup. */
const WINDOW_GRANULE = 4096
/** One workgroup covers at least 256 elements, and no adapter need allow more than 65,535 workgroups in a row. */
const MAX_WINDOW = 65_535 * 256 - ((65_535 * 256) % WINDOW_GRANULE)

/** Cuts a flat buffer of `elements` floats into parts that this adapter can bind and one dispatch can cover. */
export function bindingWindows(engine: Engine, elements: number): Window[] {
  const bindable = Math.floor(engine.device.limits.maxStorageBufferBindingSize / 4 / WINDOW_GRANULE) * WINDOW_GRANULE
  return cutWindows(elements, Math.min(MAX_WINDOW, bindable))
}

export function cutWindows(elements: number, most: number): Window[] {
  const windows: Window[] = []
  for (let offset = 0; offset < elements; offset += most) windows.push({ offset, length: Math.min(most, elements - offset) })
  return windows
}
