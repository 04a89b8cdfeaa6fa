import { beforeEach, describe, expect, it } from 'vitest'
import type { ToRank } from '../protocol/room-messages.ts'
import type { UpdateReport } from '../protocol/update-plan.ts'
import { CheckpointRequests } from './checkpoint-requests.ts'
import type { SaveSettings } from './run-ports.ts'

const sent: string[] = []
const warnings: string[] = []

function rank(peer: string) {
  return {
    peer,
    name: peer,
    send: (message: ToRank) => void sent.push(message.type === 'checkpoint' ? `${peer}: ${message.id} if ${message.committed}` : message.type),
    sendCorpus: () => Promise.resolve(),
  }
}

function asked(...peers: readonly string[]) {
  return { generation: 1, members: peers.map((peer) => ({ peer, name: peer })), ranks: peers.map(rank) }
}

function requests(save: SaveSettings, done: { readonly update: number; readonly committed: number } | null = null): CheckpointRequests {
  return new CheckpointRequests({ save, initial: done ? { from: 'checkpoint', ...done } : { from: 'seed' } }, { event: (_, text) => void warnings.push(text) })
}

const report = (update: number, committed: number) => ({ update, committed }) as UpdateReport

describe('CheckpointRequests', () => {
  beforeEach(() => {
    sent.length = 0
    warnings.length = 0
  })

  it('asks the first rank after every so many committed updates, whatever was skipped', () => {
    const saves = requests({ strategy: 'steps', every: 3 })
    for (let done = 1; done <= 7; done++) {
      expect(saves.allow(done)).toBe(true)
      saves.after(done, asked('a', 'b'))
      saves.finished(report(done - 1, done === 1 ? 1 : done - 1)) // the second one was skipped
      saves.ended(done, 'done')
    }
    expect(sent).toEqual(['a: 4 if 3', 'a: 7 if 6'])
    expect(requests({ strategy: 'steps', every: 3 }, { update: 4, committed: 3 }).allow(7)).toBe(true)
  })

  it('a state that a rank did not take, because an update was skipped, is asked for at the end', () => {
    const saves = requests({ strategy: 'steps', every: 3 })
    saves.after(3, asked('a'))
    expect(saves.answered('a', 3, false)).toBe(false)
    expect(saves.atEnd(3, asked('a'))).toBe(true)
    expect(sent).toEqual(['a: 3 if 3', 'a: 3 if null'])
  })

  it('one at a time: a window that calls for the next waits for the one before, others do not', () => {
    const saves = requests({ strategy: 'epoch', every: 2 })
    saves.after(2, asked('a'))
    expect([saves.allow(3), saves.allow(4)]).toEqual([true, false])
    expect(saves.answered('b', 2, true)).toBe(false)
    expect(saves.answered('a', 2, true)).toBe(true)
    expect(saves.allow(4)).toBe(false)
    saves.ended(2, 'done')
    expect(saves.allow(4)).toBe(true)
  })

  it('the end has one of its own, once; without a strategy there is none', () => {
    const saves = requests({ strategy: 'steps', every: 500 })
    expect(saves.atEnd(7, asked('a'))).toBe(true)
    expect(saves.atEnd(7, asked('a'))).toBe(true)
    saves.ended(7, 'done')
    expect(saves.atEnd(7, asked('a'))).toBe(false)
    expect(sent).toEqual(['a: 7 if null'])
    expect(requests({ strategy: 'no', every: 1 }).atEnd(7, asked('a'))).toBe(false)
    expect(requests({ strategy: 'steps', every: 1 }, { update: 7, committed: 7 }).atEnd(7, asked('a'))).toBe(false)
  })

  it('[M3] a state that went with its rank is asked of another one if all still have it, and is past otherwise', () => {
    const saves = requests({ strategy: 'steps', every: 2 })
    saves.after(2, asked('a', 'b'))
    saves.restart(2, asked('b'))
    expect(saves.answered('b', 2, true)).toBe(true)
    saves.ended(2, 'lost')
    saves.restart(3, asked('c'))
    expect(sent).toEqual(['a: 2 if 2', 'b: 2 if 2'])
    expect(warnings).toEqual(['The checkpoint after 2 updates was lost with the rank that had it; the next one replaces it'])
    expect(saves.allow(4)).toBe(true)
  })

  it('[M3] after a step back the window is planned, and its state asked for, again', () => {
    const saves = requests({ strategy: 'steps', every: 2 })
    saves.after(2, asked('a', 'b'))
    saves.restart(1, asked('b'))
    saves.after(2, asked('b'))
    expect(sent).toEqual(['a: 2 if 2', 'b: 2 if 2'])
    expect(warnings).toEqual([])
  })
})
