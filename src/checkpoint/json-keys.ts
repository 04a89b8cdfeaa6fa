/**
 * The first key that stands twice in one object of a JSON text, at any depth, or null. JSON.parse keeps the last of them and says
 * nothing. `text` must be valid JSON.
 */
export function findDuplicateKey(text: string): string | null {
  const open: (Set<string> | null)[] = [] // null for an array
  const token = /"(?:[^"\\]+|\\.)*"(\s*:)?|[{}[\]]/g
  for (const [found, colon] of text.matchAll(token)) {
    if (found === '{') open.push(new Set())
    else if (found === '[') open.push(null)
    else if (found === '}' || found === ']') open.pop()
    else if (colon !== undefined) {
      const key = String(JSON.parse(found.slice(0, -colon.length)))
      const keys = open.at(-1)
      if (keys?.has(key)) return key
      keys?.add(key)
    }
  }
  return null
}
