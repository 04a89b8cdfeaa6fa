import { broadcastCarrier } from './broadcast-carrier.ts'
import { compositeSignalling } from './composite-signalling.ts'
import { mqttCarrier } from './mqtt-carrier.ts'
import { roomCrypto } from './room-crypto.ts'
import type { Invite } from './room-invite.ts'
import { type Carrier, sealedSignalling } from './sealed-signalling.ts'
import type { Signalling } from './signalling.ts'

export interface OpenSignalling {
  readonly invite: Invite
  readonly self: string
  /** Origin of the page; its server has the broker at /mqtt. */
  readonly origin: string
}

/** BroadcastChannel for tabs of this browser and the broker for everyone. @throws when neither is there. */
export async function openSignalling({ invite, self, origin }: OpenSignalling): Promise<Signalling> {
  const crypto = await roomCrypto(invite.room, invite.key)
  const carriers: Carrier[] = 'BroadcastChannel' in globalThis ? [broadcastCarrier(invite.room, self)] : []
  try {
    carriers.push(await mqttCarrier(`${origin.replace(/^http/, 'ws')}/mqtt`, invite.room, self))
  } catch (cause) {
    if (carriers.length === 0) throw new Error(`Cannot reach the room: the broker at ${origin}/mqtt does not answer`, { cause })
  }
  return compositeSignalling(
    self,
    carriers.map((carrier) => sealedSignalling(self, invite.room, crypto, carrier)),
  )
}
