import type { MqttClient } from 'mqtt'
import type { Carrier } from './sealed-signalling.ts'

/** The broker notices a silent client after one and a half of these. */
const KEEPALIVE_S = 3
const RECONNECT_MS = 1_000
const CONNECT_DEADLINE_MS = 5_000

/**
 * J2: presence at `room/<room>/peer/<peer>`, retained and cleared by a Last Will; messages at `room/<room>/to/<peer>/<from>`.
 * The client library is loaded when it is needed. @throws when the broker does not answer in time.
 */
export async function mqttCarrier(url: string, room: string, self: string): Promise<Carrier> {
  const { default: mqtt } = await import('mqtt') // its browser bundle has no named exports
  const base = `room/${room}`
  const own = `${base}/peer/${self}`
  const client = await mqtt.connectAsync(
    url,
    {
      protocolVersion: 4, // the version that every broker speaks
      clientId: self,
      clean: true,
      keepalive: KEEPALIVE_S,
      reconnectPeriod: RECONNECT_MS,
      connectTimeout: CONNECT_DEADLINE_MS,
      will: { topic: own, payload: '', qos: 1, retain: true },
    },
    false,
  )
  return new MqttCarrier(client, base, own, self)
}

class MqttCarrier implements Carrier {
  onPresence: Carrier['onPresence'] = null
  onMessage: Carrier['onMessage'] = null
  readonly #client: MqttClient
  readonly #base: string
  readonly #own: string
  readonly #self: string
  #shown: Uint8Array<ArrayBuffer> | null = null

  constructor(client: MqttClient, base: string, own: string, self: string) {
    this.#client = client
    this.#base = base
    this.#own = own
    this.#self = self
    client.on('message', (topic, payload) => this.#hear(topic, payload.toString()))
    // The Last Will has cleared the presence when a connection broke: show it again.
    client.on('connect', () => this.#announceAgain())
    // The client goes on by itself; without a listener an error would be uncaught.
    client.on('error', () => {})
  }

  async show(sealed: Uint8Array<ArrayBuffer>): Promise<void> {
    this.#shown = sealed
    await this.#client.subscribeAsync([`${this.#base}/peer/+`, `${this.#base}/to/${this.#self}/+`], { qos: 1 })
    await this.#announce()
  }

  send(to: string, sealed: Uint8Array<ArrayBuffer>): void {
    this.#client.publish(`${this.#base}/to/${to}/${this.#self}`, toBase64(sealed), { qos: 1 })
  }

  close(): void {
    if (this.#client.disconnecting) return
    this.#shown = null
    this.#client.publish(this.#own, '', { qos: 0, retain: true })
    this.#client.end()
  }

  async #announce(): Promise<void> {
    if (this.#shown) await this.#client.publishAsync(this.#own, toBase64(this.#shown), { qos: 1, retain: true })
  }

  #announceAgain(): void {
    this.#announce().catch(() => {}) // the connection has broken again; the next one announces
  }

  #hear(topic: string, text: string): void {
    const [kind, first = '', second = ''] = topic.slice(this.#base.length + 1).split('/')
    const payload = fromBase64(text)
    if (!payload) return
    // The will of a connection that broke may arrive after the next one has announced this peer.
    if (kind === 'peer' && first === this.#self && payload.byteLength === 0) this.#announceAgain()
    if (kind === 'peer') this.onPresence?.(first, payload.byteLength === 0 ? null : payload)
    if (kind === 'to') this.onMessage?.(second, payload)
  }
}

/** Text, because the client's browser bundle takes only its own Buffer for bytes. */
function toBase64(bytes: Uint8Array): string {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''))
}

/** @returns null for what is not base64. */
function fromBase64(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  } catch {
    return null // anyone may publish anything on a public broker
  }
}
