import { render } from 'preact'
import { openSignalling } from '../transport/open-signalling.ts'
import { parseInvite } from '../transport/room-invite.ts'
import { InsecureNotice, Notice } from '../ui/notice.tsx'
import { browserPorts, runPreflight } from '../ui/preflight.ts'
import { browserName } from './browser-name.ts'
import { createRank } from './rank-client.ts'
import { rememberName, rememberedName } from './remembered-name.ts'
import { RankApp } from './ui/app.tsx'
import '../ui/style.css'

declare const __BUILD_HASH__: string

const host = document.getElementById('app')
if (!host) throw new Error('Cannot show the page: the element #app is missing')
await open(host)

async function open(into: HTMLElement): Promise<void> {
  const invite = parseInvite(location.href)
  if (!invite) return render(<NoRoom />, into)
  if (!isSecureContext) return render(<InsecureNotice preflight={await runPreflight(browserPorts())} />, into)
  const query = new URLSearchParams(location.search)
  const auto = query.get('auto') === '1'
  const self = query.get('peer') ?? crypto.randomUUID()
  const rank = createRank({
    onJoin: (name) => void (auto || rememberName(name)),
    room: invite.room,
    build: __BUILD_HASH__,
    profile: readProfile(query.get('profile')),
    peer: self,
    openSignalling: () => openSignalling({ invite, self, origin: location.origin }),
  })
  const given = query.get('name')
  render(<RankApp rank={rank} preflight={null} suggestedName={given ?? ''} />, into)
  const [preflight, suggestedName] = await Promise.all([runPreflight(browserPorts()), given ?? rememberedName()])
  render(<RankApp rank={rank} preflight={preflight} suggestedName={suggestedName} />, into)
  // The coordinator's own tab and the command line have agreed already.
  if (auto) await rank.join(suggestedName || browserName(navigator.userAgent))
}

function readProfile(text: string | null): 'auto' | 'lane' | 'shared' {
  return text === 'lane' || text === 'shared' ? text : 'auto'
}

function NoRoom() {
  return (
    <Notice title="No room to join">
      <p class="error" role="alert">
        This link names no room, or its key is missing.
      </p>
      <p>
        Ask whoever invited you for the whole link, with everything behind the #. Or <a href="/">open a room of your own</a>.
      </p>
    </Notice>
  )
}
