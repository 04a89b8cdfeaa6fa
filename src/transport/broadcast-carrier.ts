import type { Carrier } from './sealed-signalling.ts'

type Note =
  | { readonly type: 'presence'; readonly peer: string; readonly sealed: Uint8Array<ArrayBuffer> }
  | { readonly type: 'who' }
  | { readonly type: 'gone'; readonly peer: string }
  | { readonly type: 'message'; readonly from: string; readonly to: string; readonly sealed: Uint8Array<ArrayBuffer> }

/** Tabs of one browser find each other without a server; a tab that dies without a goodbye is not noticed here. */
export function broadcastCarrier(room: string, self: string): Carrier {
  const channel = new BroadcastChannel(`tabring ${room}`)
  let mine: Uint8Array<ArrayBuffer> | null = null
  let closed = false
  const post = (note: Note): void => {
    if (!closed) channel.postMessage(note)
  }
  const carrier: Carrier = {
    onPresence: null,
    onMessage: null,
    async show(sealed) {
      mine = sealed
      post({ type: 'presence', peer: self, sealed })
      post({ type: 'who' })
    },
    send: (to, sealed) => post({ type: 'message', from: self, to, sealed }),
    close() {
      post({ type: 'gone', peer: self })
      closed = true
      channel.close()
    },
  }
  channel.onmessage = ({ data }: MessageEvent<unknown>) => {
    if (!isNote(data)) return
    if (data.type === 'who' && mine) post({ type: 'presence', peer: self, sealed: mine })
    if (data.type === 'presence') carrier.onPresence?.(data.peer, data.sealed)
    if (data.type === 'gone') carrier.onPresence?.(data.peer, null)
    if (data.type === 'message' && data.to === self) carrier.onMessage?.(data.from, data.sealed)
  }
  return carrier
}

/** The channel's name is no secret: anything on this origin may write to it. */
function isNote(data: unknown): data is Note {
  if (typeof data !== 'object' || data === null || !('type' in data)) return false
  const has = (...names: string[]): boolean => names.every((name) => typeof Reflect.get(data, name) === 'string')
  const sealed = 'sealed' in data && data.sealed instanceof Uint8Array
  switch (data.type) {
    case 'who':
      return true
    case 'gone':
      return has('peer')
    case 'presence':
      return has('peer') && sealed
    case 'message':
      return has('from', 'to') && sealed
    default:
      return false
  }
}
