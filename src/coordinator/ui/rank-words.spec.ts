import { describe, expect, it } from 'vitest'
import type { RankRow, RankState } from '../session-view.ts'
import { inTableOrder, isHere, isReady, STATE_WORDS } from './rank-words.ts'

const row = (peer: string, state: RankState, own = false): RankRow => ({
  peer,
  name: peer,
  browser: '',
  adapter: '',
  state,
  note: '',
  progress: null,
  microBatches: 0,
  tokensPerSecond: 0,
  shares: null,
  hidden: false,
  own,
})

describe('ranks in the table', () => {
  it('stand with the own one first and the gone ones last, else as they came', () => {
    const ranks = [row('gone', 'left'), row('b', 'training'), row('own', 'ready', true), row('a', 'connecting')]
    expect(inTableOrder(ranks).map(({ peer }) => peer)).toEqual(['own', 'b', 'a', 'gone'])
  })
  it('are ready once they have tested their device and have not gone', () => {
    const states = Object.keys(STATE_WORDS) as RankState[]
    expect(states.filter((state) => !isHere(row('x', state)))).toEqual(['left', 'refused', 'failed'])
    expect(states.filter((state) => isHere(row('x', state)) && !isReady(row('x', state)))).toEqual(['connecting', 'checking'])
  })
})
