/** J3: signalling payloads are sealed with AES-GCM under a key that only the room's invited have. */
export interface RoomCrypto {
  /** `context` (who to whom) is authenticated with the payload. */
  seal(payload: unknown, context: string): Promise<Uint8Array<ArrayBuffer>>
  /** @returns undefined for anything that was not sealed with this room's key for this context. */
  open(sealed: Uint8Array<ArrayBuffer>, context: string): Promise<unknown>
}

const NONCE_BYTES = 12
/** An offer with its candidates has a few KB. */
const MAX_SEALED_BYTES = 256 * 1024

/**
 * `roomKey`: base64url of 32 random bytes, from the invitation. The room's name salts the derivation.
 * @throws a sentence on a page that is not secure.
 */
export async function roomCrypto(room: string, roomKey: string): Promise<RoomCrypto> {
  // Plain http from another computer.
  if (!('subtle' in crypto)) throw new Error('Cannot open a room on this page: it has no encryption, need https or localhost')
  const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text)
  const secret = await crypto.subtle.importKey('raw', encode(roomKey), 'HKDF', false, ['deriveKey'])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: encode(room), info: encode('tabring signalling 1') }
  const key = await crypto.subtle.deriveKey(derivation, secret, { name: 'AES-GCM', length: 256 }, false, ['encrypt', 'decrypt'])
  return {
    async seal(payload, context) {
      const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
      const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData: encode(context) }, key, encode(JSON.stringify(payload)))
      const joined = new Uint8Array(NONCE_BYTES + sealed.byteLength)
      joined.set(iv)
      joined.set(new Uint8Array(sealed), NONCE_BYTES)
      return joined
    },
    async open(sealed, context) {
      if (sealed.byteLength <= NONCE_BYTES || sealed.byteLength > MAX_SEALED_BYTES) return undefined
      try {
        const iv = sealed.subarray(0, NONCE_BYTES)
        const opened = await crypto.subtle.decrypt({ name: 'AES-GCM', iv, additionalData: encode(context) }, key, sealed.subarray(NONCE_BYTES))
        const payload: unknown = JSON.parse(new TextDecoder().decode(opened))
        return payload
      } catch {
        return undefined // another key, another context or altered on the way: whoever lacks the key gets no answer
      }
    },
  }
}
