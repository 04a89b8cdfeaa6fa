import { type ChildProcess, spawn } from 'node:child_process'

const running = new Set<ChildProcess>()

/** Ends what a test has left running. */
export function endCommands(): void {
  for (const child of running) child.kill('SIGTERM')
}
// A test run that is interrupted skips afterAll.
process.once('exit', endCommands)

export interface Command {
  readonly child: ChildProcess
  /** What was printed so far, both streams. */
  output(): string
  readonly exitCode: Promise<number | null>
}

/** Starts the command line as a user does. */
export function tabring(...argv: readonly string[]): Command {
  const child = spawn(process.execPath, ['src/cli/tabring.mjs', ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  const exitCode = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      running.delete(child)
      resolve(code)
    })
  })
  return { child, output: () => printed, exitCode }
}
