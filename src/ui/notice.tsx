import type { ComponentChildren } from 'preact'
import { Logo } from './logo.tsx'
import type { PreflightItem } from './preflight.ts'
import { PreflightList } from './preflight-list.tsx'

/** A page that has only one thing to say: why it cannot be what it should, or that it is about to be. */
export function Notice({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  return (
    <div class="notice">
      <header class="bar">
        <p class="brand">
          <Logo /> Tabring
        </p>
      </header>
      <main>
        <section class="card">
          <h1>{title}</h1>
          {children}
        </section>
      </main>
    </div>
  )
}

/** Without a secure page a browser has no keys, no WebGPU and no room: nothing else can be shown. */
export function InsecureNotice({ preflight }: { readonly preflight: readonly PreflightItem[] }) {
  return (
    <Notice title="This address is not secure enough">
      <p class="error" role="alert">
        Browsers give the graphics card and encryption only to secure pages, and Tabring needs both.
      </p>
      <PreflightList items={preflight} />
    </Notice>
  )
}
