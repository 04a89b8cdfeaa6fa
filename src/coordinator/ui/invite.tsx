import { useEffect, useRef, useState } from 'preact/hooks'
import type { PreflightItem } from '../../ui/preflight.ts'
import { PreflightList } from '../../ui/preflight-list.tsx'
import type { SessionView } from '../session-view.ts'

const DARK = [0, 0, 0, 255] as const
const LIGHT = [255, 255, 255, 255] as const
/** Long enough to read the word. */
const COPIED_MS = 2_500

interface InviteProps {
  readonly session: SessionView
  readonly preflight: readonly PreflightItem[] | null
  /** As the second step on the way to Start. */
  readonly numbered: boolean
}

/** Who computes: this tab, and those that are invited. */
export function Invite({ session, preflight, numbered }: InviteProps) {
  const url = session.inviteUrl.value
  const broken = preflight?.some(({ ok }) => !ok) ?? false
  return (
    <section class="card" aria-labelledby="invite-title">
      <h2 id="invite-title">{numbered && <span class="step">2</span>} Who computes</h2>
      <label class="own-switch" for="compute-here">
        <input
          id="compute-here"
          type="checkbox"
          role="switch"
          checked={session.computeHere.value}
          disabled={broken && !session.computeHere.value}
          onChange={({ currentTarget }) => session.setComputeHere(currentTarget.checked)}
        />
        This tab computes too
      </label>
      <PreflightList items={preflight} />
      <h3>Invite more tabs and devices</h3>
      <div class="invite">
        <QrCode url={url} />
        <Link url={url} />
      </div>
      {isLocal(url) && (
        <p class="quiet">
          This link works on this computer only, because the page was opened as localhost. For other devices, open this page by an https address that they can reach.
        </p>
      )}
    </section>
  )
}

function Link({ url }: { readonly url: string }) {
  const field = useRef<HTMLInputElement>(null)
  const [said, setSaid] = useState('')
  const say = (word: string): void => {
    setSaid(word)
    setTimeout(() => setSaid(''), COPIED_MS)
  }
  const copy = (): void => {
    field.current?.select()
    // Without the permission, or without https, the selection is what can be done.
    if (!navigator.clipboard) return say('Press Ctrl+C')
    navigator.clipboard.writeText(url).then(
      () => say('Copied'),
      () => say('Press Ctrl+C'),
    )
  }
  return (
    <div>
      <label for="invite-link">Invitation link</label>
      <input id="invite-link" ref={field} readOnly value={url} onFocus={({ currentTarget }) => currentTarget.select()} />
      <div class="buttons">
        <button type="button" onClick={copy}>
          {said || 'Copy link'}
        </button>
        <a href={url} target="_blank" rel="noreferrer">
          Open it in a new tab
        </a>
      </div>
    </div>
  )
}

/** Small on the page, as large as the screen for a class room. */
function QrCode({ url }: { readonly url: string }) {
  const [picture, setPicture] = useState('')
  const large = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    let shown = true
    void import('lean-qr').then(({ generate }) => {
      if (shown) setPicture(generate(url).toDataURL({ on: DARK, off: LIGHT, pad: 3, scale: 1 }))
    })
    return () => {
      shown = false
    }
  }, [url])
  if (!picture) return <span class="qr" />
  return (
    <>
      <button type="button" class="qr" onClick={() => large.current?.showModal()}>
        <img src={picture} alt="QR code of the invitation link: show it large" />
      </button>
      <dialog ref={large} class="qr-large" aria-label="QR code of the invitation link" onClick={() => large.current?.close()}>
        <img src={picture} alt="QR code of the invitation link" />
        <form method="dialog">
          <button type="submit">Close</button>
        </form>
      </dialog>
    </>
  )
}

function isLocal(url: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)
}
