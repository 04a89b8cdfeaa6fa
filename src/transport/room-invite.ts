/** A room's name and key. */
export interface Invite {
  /** Three words. */
  readonly room: string
  /** base64url of 32 random bytes; stays behind the # of the link, which never reaches a server. */
  readonly key: string
}

const KEY_BYTES = 32
const KEY_PATTERN = /^[A-Za-z0-9_-]{43}$/
const ROOM_PATTERN = /^[a-z0-9-]{1,60}$/

const WORDS: readonly (readonly string[])[] = [
  [
    'amber',
    'brave',
    'calm',
    'clever',
    'coral',
    'eager',
    'gentle',
    'golden',
    'happy',
    'jolly',
    'kind',
    'lively',
    'mellow',
    'merry',
    'nimble',
    'patient',
    'proud',
    'quick',
    'quiet',
    'royal',
    'shiny',
    'silver',
    'snowy',
    'sunny',
    'swift',
    'tidy',
    'vivid',
    'warm',
    'wild',
    'wise',
    'witty',
    'young',
  ],
  [
    'apple',
    'birch',
    'cedar',
    'cherry',
    'clover',
    'cloud',
    'comet',
    'copper',
    'desert',
    'ember',
    'fern',
    'forest',
    'garden',
    'harbor',
    'island',
    'ivory',
    'jade',
    'lake',
    'lemon',
    'maple',
    'marble',
    'meadow',
    'ocean',
    'olive',
    'pepper',
    'pine',
    'river',
    'rocket',
    'saffron',
    'stone',
    'velvet',
    'willow',
  ],
  [
    'badger',
    'beaver',
    'bison',
    'crane',
    'dolphin',
    'falcon',
    'finch',
    'fox',
    'gecko',
    'heron',
    'ibis',
    'jaguar',
    'koala',
    'lark',
    'lemur',
    'lynx',
    'marten',
    'moose',
    'newt',
    'ocelot',
    'otter',
    'owl',
    'panda',
    'puffin',
    'quail',
    'raven',
    'robin',
    'seal',
    'swan',
    'tapir',
    'whale',
    'wren',
  ],
]

/** The name only tells rooms apart; it is the key that lets one in. */
export function newInvite(): Invite {
  const random = crypto.getRandomValues(new Uint8Array(WORDS.length))
  const room = WORDS.map((words, index) => words[(random[index] ?? 0) % words.length]).join('-')
  const key = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(KEY_BYTES))))
  return { room, key: key.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '') }
}

/** J1 */
export function inviteUrl(origin: string, { room, key }: Invite): string {
  return `${origin}/join?room=${room}#k=${key}`
}

/** @returns null when the address names no room or its key is missing or cut off. */
export function parseInvite(url: string): Invite | null {
  const parsed = new URL(url)
  const room = parsed.searchParams.get('room') ?? ''
  const key = new URLSearchParams(parsed.hash.slice(1)).get('k') ?? ''
  return ROOM_PATTERN.test(room) && KEY_PATTERN.test(key) ? { room, key } : null
}
