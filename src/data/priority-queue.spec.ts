import fc from 'fast-check'
import { expect, it } from 'vitest'
import { PriorityQueue } from './priority-queue.ts'

it('gives items in order, also when some are added in between', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer())), (actions) => {
      const queue = new PriorityQueue<number>((a, b) => a < b)
      const model: number[] = []
      for (const action of actions) {
        if (action === null) expect(queue.pop()).toBe(model.sort((a, b) => a - b).shift())
        else {
          queue.push(action)
          model.push(action)
        }
        expect(queue.size).toBe(model.length)
      }
    }),
  )
})
