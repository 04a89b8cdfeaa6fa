import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { modelStart } from './model-start.ts'

const CONFIG = { model_type: 'gpt2', n_layer: 3, n_embd: 32, n_head: 2, n_inner: null, n_positions: 32, initializer_range: 0.3, vocab_size: 84 }

let folder = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tabring-'))
  writeFileSync(join(folder, 'config.json'), JSON.stringify(CONFIG))
  writeFileSync(join(folder, 'model.safetensors'), '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function writeTokenizer(merges: readonly string[], added: readonly unknown[] = []): void {
  writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify({ added_tokens: added, pre_tokenizer: { type: 'ByteLevel' }, model: { type: 'BPE', merges } }))
}

it('sizes come from config.json, also over those of a preset; the block is as long as the model sees', () => {
  const { options, files } = modelStart(folder, { preset: 'book', max_steps: '5' })
  expect(options).toMatchObject({ n_layer: 3, n_embd: 32, n_head: 2, n_inner: null, initializer_range: 0.3, block_size: 32, max_steps: 5, learning_rate: 5e-3 })
  expect(files).toEqual(['config.json', 'model.safetensors'].map((name) => join(folder, name)))
  expect(modelStart(folder, { n_layer: '3', n_inner: '128', block_size: '16' }).options).toMatchObject({ n_layer: 3, block_size: 16 })
})

it("other families' names of the same sizes are read", () => {
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      model_type: 'mistral',
      num_hidden_layers: 2,
      hidden_size: 48,
      num_attention_heads: 4,
      num_key_value_heads: 2,
      intermediate_size: 100,
      max_position_embeddings: 4_096,
    }),
  )
  const sizes = { model_type: 'llama', n_layer: 2, n_embd: 48, n_head: 4, num_key_value_heads: 2, n_inner: 100, block_size: 1_024 }
  expect(modelStart(folder, {}).options).toMatchObject(sizes)
  expect(() => modelStart(folder, { model_type: 'qwen3' })).toThrow(`Cannot set model_type to "qwen3": need llama, as in config.json of ${folder}`)
})

it('the tokenizer is that of the folder', () => {
  writeTokenizer([])
  expect(modelStart(folder, { preset: 'tiny' }).options.tokenizer).toBe('byte')
  writeTokenizer(['a b'])
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...CONFIG, vocab_size: 300 }))
  expect(modelStart(folder, {}).options).toMatchObject({ tokenizer: 'bpe', vocab_size: 300 })
  expect(() => modelStart(folder, { tokenizer: 'char' })).toThrow(`Cannot set tokenizer to "char": need bpe, as in tokenizer.json of ${folder}`)
  expect(() => modelStart(folder, { vocab_size: '400' })).toThrow(`Cannot set vocab_size to "400": need 300, as in config.json of ${folder}`)
  writeTokenizer(['a b'], [{ id: 0 }])
  expect(modelStart(folder, {}).options.tokenizer).toBe('file')
  rmSync(join(folder, 'tokenizer.json'))
  expect(modelStart(folder, {}).options).toMatchObject({ tokenizer: 'file', preset: 'none' })
  expect(modelStart(folder, { tokenizer: 'char' }).options.tokenizer).toBe('char')
})

it.each([
  [{ n_layer: '2' }, 'Cannot set n_layer to "2": need 3, as in config.json of '],
  [{ n_embd: '64' }, 'Cannot set n_embd to "64": need 32, as in config.json of '],
  [{ n_inner: '64' }, 'Cannot set n_inner to "64": need 128, as in config.json of '],
  [{ block_size: '33' }, 'Cannot set block_size to "33": need at most 32, the positions in config.json of '],
])('%o contradicts the model and is refused', (raw, message) => {
  expect(() => modelStart(folder, raw)).toThrow(message + folder)
})

it('a folder that is none of a model is refused by what is missing', () => {
  expect(() => modelStart(join(folder, 'none'), {})).toThrow('need the folder of a model')
  mkdirSync(join(folder, 'empty'))
  expect(() => modelStart(join(folder, 'empty'), {})).toThrow('need a folder with config.json')
  renameSync(join(folder, 'model.safetensors'), join(folder, 'pytorch_model.bin'))
  expect(() => modelStart(folder, {})).toThrow('need a folder with model.safetensors, or its shards and model.safetensors.index.json; it has pytorch_model.bin')
  writeFileSync(join(folder, 'config.json'), '{')
  renameSync(join(folder, 'pytorch_model.bin'), join(folder, 'model.safetensors'))
  expect(() => modelStart(folder, {})).toThrow(`Cannot read ${join(folder, 'config.json')}: `)
})
