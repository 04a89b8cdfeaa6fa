/** A binary heap: `pop` gives an item that no other comes `before`. */
export class PriorityQueue<T> {
  readonly #items: T[] = []
  readonly #before: (a: T, b: T) => boolean

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before
  }

  get size(): number {
    return this.#items.length
  }

  push(item: T): void {
    const items = this.#items
    let hole = items.length
    items.push(item)
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      const above = items[parent]
      if (above === undefined || !this.#before(item, above)) break
      items[hole] = above
      hole = parent
    }
    items[hole] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const top = items[0]
    const last = items.pop()
    if (last !== undefined && items.length > 0) this.#sink(last)
    return top
  }

  #sink(item: T): void {
    const items = this.#items
    let hole = 0
    for (;;) {
      const left = items[2 * hole + 1]
      if (left === undefined) break
      const right = items[2 * hole + 2]
      const rightFirst = right !== undefined && this.#before(right, left)
      const child = rightFirst ? right : left
      if (!this.#before(child, item)) break
      items[hole] = child
      hole = 2 * hole + (rightFirst ? 2 : 1)
    }
    items[hole] = item
  }
}
