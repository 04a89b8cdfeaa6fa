import type { IncomingMessage, ServerResponse } from 'node:http'
import sirv from 'sirv'

/** Serves the built pages: `/join` is join.html; hashed files are kept for ever, pages are asked for anew each time. */
export function staticFiles(webRoot: string): (request: IncomingMessage, response: ServerResponse) => void {
  const files = sirv(webRoot, {
    etag: true,
    extensions: ['html'],
    setHeaders: (response, path) => {
      response.setHeader('Cache-Control', path.startsWith('/assets/') ? 'public, max-age=31536000, immutable' : 'no-cache')
      response.setHeader('X-Content-Type-Options', 'nosniff')
      response.setHeader('Referrer-Policy', 'no-referrer')
    },
  })
  return (request, response) => {
    files(request, response, () => {
      response.statusCode = 404
      response.setHeader('Content-Type', 'text/plain; charset=utf-8')
      response.end('There is no such page. The coordinator is at /\n')
    })
  }
}
