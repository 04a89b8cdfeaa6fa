/** The ring of tabs. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 64 64" aria-hidden="true">
      <circle cx="32" cy="32" r="22" fill="none" stroke="currentColor" stroke-width="4" opacity="0.35" />
      {[0, 1, 2, 3, 4].map((tab) => (
        <circle key={tab} cx={32 + 22 * Math.sin((tab * 2 * Math.PI) / 5)} cy={32 - 22 * Math.cos((tab * 2 * Math.PI) / 5)} r="7" fill="var(--spark)" />
      ))}
    </svg>
  )
}
