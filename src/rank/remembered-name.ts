import { get, set } from 'idb-keyval'

/** The only door to idb-keyval: what this browser remembers between visits. */
const NAME_KEY = 'tabring name'

/** The name that was used last, or nothing; a browser that forbids storage remembers none. */
export async function rememberedName(): Promise<string> {
  try {
    const name: unknown = await get(NAME_KEY)
    return typeof name === 'string' ? name : ''
  } catch {
    return '' // private windows of some browsers have no database
  }
}

export async function rememberName(name: string): Promise<void> {
  try {
    await set(NAME_KEY, name)
  } catch {
    // As above: the visitor types it again next time.
  }
}
