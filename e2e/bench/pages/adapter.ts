// Names the adapter that all pages get.
async function adapter(): Promise<string> {
  const found = await navigator.gpu.requestAdapter()
  const info = found?.info
  return [info?.vendor, info?.architecture, info?.description].filter(Boolean).join(' ') || 'no adapter'
}

Object.assign(globalThis, { bench: { adapter } })
