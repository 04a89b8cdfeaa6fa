const TABS = [0, 1, 2, 3, 4]

/** The ring of tabs, as in public/icon.svg. */
export function Logo() {
  return (
    <svg class="logo" viewBox="0 0 64 64" aria-hidden="true" focusable="false">
      <rect width="64" height="64" rx="15" fill="var(--seal)" />
      <circle cx="32" cy="32" r="18" fill="none" stroke="var(--seal-line)" stroke-width="4" />
      {TABS.map((tab) => (
        <circle key={tab} cx={32 + 18 * Math.sin((tab * 2 * Math.PI) / 5)} cy={32 - 18 * Math.cos((tab * 2 * Math.PI) / 5)} r="6.5" fill="var(--spark)" />
      ))}
    </svg>
  )
}
