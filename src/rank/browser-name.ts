/** A short name for the table of ranks, from the user agent: for people, never for decisions. */
export function browserName(userAgent: string): string {
  const browsers: readonly (readonly [RegExp, string])[] = [
    [/Edg\/(\d+)/, 'Edge'],
    [/Firefox\/(\d+)/, 'Firefox'],
    [/(?:Headless)?Chrome\/(\d+)/, 'Chrome'],
    [/Version\/(\d+).*Safari/, 'Safari'],
  ]
  const systems: readonly (readonly [RegExp, string])[] = [
    [/Android/, 'Android'],
    [/iPhone|iPad/, 'iOS'],
    [/CrOS/, 'ChromeOS'],
    [/Windows/, 'Windows'],
    [/Mac OS X/, 'macOS'],
    [/Linux/, 'Linux'],
  ]
  const browser = browsers.find(([pattern]) => pattern.test(userAgent))
  const version = browser?.[0].exec(userAgent)?.[1]
  const system = systems.find(([pattern]) => pattern.test(userAgent))?.[1]
  return [browser ? `${browser[1]} ${version}` : 'Unknown browser', system && `on ${system}`].filter(Boolean).join(' ')
}
