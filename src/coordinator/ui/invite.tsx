import { useEffect, useRef, useState } from 'preact/hooks'

/** The link that lets others join, as text and as a picture for phones. */
export function Invite({ url }: { readonly url: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    void import('lean-qr').then(({ generate }) => {
      if (canvas.current) generate(url).toCanvas(canvas.current, { on: [0, 0, 0, 255], off: [255, 255, 255, 255] })
    })
  }, [url])
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(url)
    setCopied(true)
  }
  return (
    <div class="invite">
      <canvas class="qr" ref={canvas} role="img" aria-label="QR code of the invitation link" />
      <div>
        <label>
          Invitation link
          <input readOnly value={url} onFocus={({ currentTarget }) => currentTarget.select()} />
        </label>
        <div class="buttons">
          <button type="button" onClick={() => void copy()}>
            {copied ? 'Copied' : 'Copy link'}
          </button>
          <a href={url} target="_blank" rel="noreferrer">
            Open another tab
          </a>
        </div>
      </div>
    </div>
  )
}
