import { uploadTokens } from '../engine/ops/embedding.ts'
import type { Trainee } from './update.ts'

/** Compiles, in parallel, the kernels of an update, of an evaluation and of generation, before the first of them runs. */
export async function compileKernels({ engine, model, optimizer, norm, losses, shape, labelSmoothing: smoothing = 0, dropoutSeed = null }: Trainee): Promise<void> {
  const { batch, length, packed } = shape
  const { vocabSize } = model
  await engine.compile(() => {
    const starts = packed ? new Uint32Array(batch * length) : null
    const upload = (keys: Uint32Array<ArrayBuffer> | null) => uploadTokens(engine, new Uint32Array(batch * length), { batch, length, vocabSize, starts, dropoutKeys: keys })
    const tokens = upload(null)
    const targets = engine.upload(new Int32Array(batch * length), [batch * length])
    engine.tape.backward(model.loss(dropoutSeed === null ? tokens : upload(new Uint32Array(2 * batch)), targets, losses.of(0), { smoothing }))
    norm.enqueue()
    optimizer.warm()
    engine.tape.withoutGradients(() => {
      model.loss(tokens, targets, losses.of(0))
      const one = uploadTokens(engine, new Uint32Array(length), { batch: 1, length, vocabSize })
      model.forward(one)
      model.logits(engine.empty([1, model.width]))
    })
  })
}
