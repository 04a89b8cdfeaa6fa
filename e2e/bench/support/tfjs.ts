import * as tf from '@tensorflow/tfjs-core'

/** Submits what tfjs has encoded and waits for it. With its pass still open a submit would do nothing. */
export async function finishTfjs(): Promise<void> {
  const backend = tf.backend()
  if (backend.commandEncoder) {
    backend.endComputePassEncoder()
    backend.submitQueue()
  }
  await backend.queue.onSubmittedWorkDone()
}
