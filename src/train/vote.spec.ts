import { expect, test } from 'vitest'
import { countVotes, decodeVote, encodeVote, type Vote } from './vote.ts'

const vote: Vote = { items: 2 ** 40, lossSum: 1 / 3, sumSquares: 1e70, finite: true, failure: null }

test('a vote survives the wire in full precision', () => {
  expect(decodeVote(encodeVote(vote))).toEqual(vote)
  expect(decodeVote(encodeVote({ ...vote, finite: false, failure: 'größer' }))).toEqual({ ...vote, finite: false, failure: 'größer' })
})

test('a long message is cut at a whole character', () => {
  const { failure } = decodeVote(encodeVote({ ...vote, failure: 'ü'.repeat(1000) }))
  expect(failure).toMatch(/^ü{100,}$/)
})

test('bytes of another size are refused', () => {
  expect(() => decodeVote(new Uint8Array(8))).toThrow('Cannot read a vote: 8 bytes, need 512')
})

test('all ranks take the norm of rank 0, and a rank with other gradients is named', () => {
  const near = { ...vote, sumSquares: 1e70 * (1 + 1e-7) }
  expect(countVotes([vote, near], 3)).toEqual({ items: 2 ** 41, lossSum: 2 / 3, sumSquares: 1e70, finite: true })
  expect(() => countVotes([vote, { ...vote, sumSquares: 2e70 }], 3)).toThrow('Cannot finish update 4: rank 1 holds gradients of squared norm 2e+70, rank 0 of 1e+70')
})

test('one rank that is not finite, or a loss that is not, makes the verdict not finite', () => {
  expect(countVotes([vote, { ...vote, finite: false, sumSquares: Number.NaN }], 3).finite).toBe(false)
  expect(countVotes([{ ...vote, lossSum: Number.NaN }], 3).finite).toBe(false)
})
