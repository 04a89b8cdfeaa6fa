export interface Figure {
  readonly name: string
  readonly value: string
  /** A smaller word beneath: a unit, a comparison. */
  readonly note?: string
}

/** Numbers with their names, largest first to the eye. */
export function Figures({ figures }: { readonly figures: readonly Figure[] }) {
  return (
    <dl class="figures">
      {figures.map(({ name, value, note }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
          {note && <dd class="note">{note}</dd>}
        </div>
      ))}
    </dl>
  )
}
