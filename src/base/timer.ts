/** One action that is due later; setting another replaces it. */
export class Timer {
  #id: ReturnType<typeof setTimeout> | null = null

  set(ms: number, action: () => void): void {
    this.clear()
    this.#id = setTimeout(action, ms)
  }

  clear(): void {
    if (this.#id !== null) clearTimeout(this.#id)
    this.#id = null
  }
}
