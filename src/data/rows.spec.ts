import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseOptions } from '../protocol/options.ts'
import { IGNORED_LABEL, makeBatch } from './batch.ts'
import { buildCorpus } from './build-corpus.ts'
import { byteTokenizer } from './byte-tokenizer.ts'
import { readDataFile } from './data-file.ts'
import { packRows } from './pack-rows.ts'
import { corpusFromBytes } from './read-corpus.ts'
import { RowCorpus } from './row-corpus.ts'
import { sampleSources } from './sample-source.ts'
import { tokenRows } from './token-rows.ts'
import { tokenizerFromJson } from './tokenizer-from-json.ts'
import type { Tokenizer } from './tokenizer.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)
const OPTIONS = parseOptions({ block_size: 32, tokenizer: 'byte' })
const LIMITS = { blockSize: 64, positions: 64, vocabSize: 256, completionOnly: true }

async function sourcesOf(name: string, content: string) {
  const file = await readDataFile(name, utf8(content))
  if (file.kind !== 'records') throw new Error('a text')
  return sampleSources(file, 'text')
}

/** The text that has labels, and the text that has none. */
function split(ids: ArrayLike<number>, labels: ArrayLike<number>): [string, string] {
  const pick = (learned: boolean) => byteTokenizer().decode(Array.from(ids).filter((_, at) => (labels[at] !== IGNORED_LABEL) === learned))
  return [pick(true), pick(false)]
}

describe('rows of a file', () => {
  it('are ids with labels, texts, completions or conversations', async () => {
    expect(await sourcesOf('a.jsonl', '{"input_ids":[1,2],"labels":[-100,2]}\n\n{"input_ids":[3,4]}\n')).toEqual([
      { line: 1, kind: 'ids', ids: [1, 2], labels: [-100, 2] },
      { line: 3, kind: 'ids', ids: [3, 4], labels: null },
    ])
    expect(await sourcesOf('a.json', '[{"text":"one"},{"prompt":"p","completion":"c"}]')).toEqual([
      { line: 1, kind: 'text', text: 'one' },
      { line: 2, kind: 'completion', prompt: 'p', completion: 'c' },
    ])
    expect(await sourcesOf('a.csv', 'id,text\n1,"two\nlines, quoted"\n2,b\n')).toEqual([
      { line: 2, kind: 'text', text: 'two\nlines, quoted' },
      { line: 3, kind: 'text', text: 'b' },
    ])
    const message = (role: string, content: string) => ({ role, content })
    expect(await sourcesOf('a.jsonl', '{"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}]}')).toEqual([
      { line: 1, kind: 'chat', messages: [message('user', 'q'), message('assistant', 'a')], answersFrom: 1 },
    ])
  })

  it.each([
    ['a.jsonl', '{"text":"a"}\n{"text":', /^Cannot read line 2 of a\.jsonl: .*, need JSON$/],
    ['a.jsonl', '[1]', 'Cannot read line 1 of a.jsonl: it is an array, need an object such as {"text": "..."}'],
    ['a.jsonl', '\n\n', 'Cannot use a.jsonl: it has no rows, need at least one'],
    ['a.jsonl', '{"input_ids":[1,2,3],"labels":[1,2]}', 'Cannot use line 1 of a.jsonl: it has 3 input_ids and 2 labels, need as many'],
    ['a.jsonl', '{"input_ids":[1,-2]}', 'input_ids is no list of token ids, need at least two whole numbers from 0'],
    ['a.jsonl', '{"input_ids":[1,2],"labels":[1,-1]}', 'labels is no list of token ids, need whole numbers from 0, or -100'],
    ['a.jsonl', '{"content":"a"}', 'it has content, need input_ids, messages, prompt and completion, or text (another column: dataset_text_field)'],
    [
      'a.jsonl',
      '{"messages":[{"role":"user","content":"a"},{"content":"b"}]}',
      'Cannot use line 1 of a.jsonl: message 2 of messages has no role, need one, such as user or assistant',
    ],
    ['a.jsonl', '{"messages":[]}', 'messages is no list of messages'],
    ['a.json', '{"text":"a"}', 'Cannot read a.json: it is no JSON array'],
    ['a.csv', 'id,text\n1,a\n2\n', /^Cannot read row 3 of a\.csv: .*, need the columns id, text$/],
  ])('%s with %j is refused with its line', async (name, content, message) => {
    await expect(sourcesOf(name, content)).rejects.toThrow(message)
  })
})

describe('tokenRows', () => {
  it('gives labels to completions and answers only', async () => {
    const sources = await sourcesOf('a.jsonl', '{"prompt":"ask ","completion":"answer"}\n{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yo"}]}')
    const { rows } = await tokenRows(sources, byteTokenizer(), { ...LIMITS, blockSize: 200 })
    expect(rows.map(({ ids, labels }) => split(ids, labels))).toEqual([
      ['answer', 'ask '],
      ['yo<|im_end|>\n', '<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n'],
    ])
    const all = await tokenRows(sources, byteTokenizer(), { ...LIMITS, blockSize: 200, completionOnly: false })
    for (const { ids, labels } of all.rows) expect(labels).toEqual(ids)
  })

  it('learns every answer of a conversation, and only the completion where it is one', async () => {
    const turns = '[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"},{"role":"assistant","content":"d"}]'
    const learned = async (line: string) => {
      const { rows } = await tokenRows(await sourcesOf('a.jsonl', line), byteTokenizer(), { ...LIMITS, blockSize: 500 })
      return rows.map(({ ids, labels }) => split(ids, labels)[0])
    }
    expect(await learned(`{"messages":${turns}}`)).toEqual(['b<|im_end|>\nd<|im_end|>\n'])
    expect(await learned(`{"prompt":${turns.replace(/,\{"role":"assistant","content":"d"\}/, '')},"completion":[{"role":"assistant","content":"d"}]}`)).toEqual(['d<|im_end|>\n'])
  })

  it("takes the tokenizer's own template, begin and end", async () => {
    const { rows } = await tokenRows(await sourcesOf('a.jsonl', '{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}\n{"text":"a"}'), foreign(), {
      ...LIMITS,
      vocabSize: 9,
    })
    expect(rows[0]).toEqual({ ids: [0, 2, 3, 4, 1], labels: [-100, -100, -100, 4, 1], starts: null })
    expect(rows[1]).toEqual({ ids: [2, 1], labels: [2, 1], starts: null })
  })

  it('counts what it cuts, and refuses what does not fit', async () => {
    const text = await sourcesOf('a.jsonl', '{"text":"0123456789"}\n{"text":"01"}\n{"prompt":"0123456789","completion":"a"}')
    const { rows, truncated, lostTokens, empty } = await tokenRows(text, byteTokenizer(), { ...LIMITS, blockSize: 8 })
    expect(rows.map(({ ids }) => ids.length)).toEqual([8, 2, 8])
    expect([truncated, lostTokens, empty]).toEqual([2, 5, 1])
    const ids = await sourcesOf('a.jsonl', '{"input_ids":[1,2,3,4,5]}')
    await expect(tokenRows(ids, byteTokenizer(), { ...LIMITS, positions: 4 })).rejects.toThrow('Cannot use line 1: it has 5 tokens, need at most the 4 positions of the model')
    await expect(tokenRows(ids, byteTokenizer(), { ...LIMITS, vocabSize: 5 })).rejects.toThrow('Cannot use line 1: it has token 5, need ids below 5, the size of the vocabulary')
    await expect(tokenRows(await sourcesOf('a.jsonl', '{"prompt":"0123","completion":"a"}'), byteTokenizer(), { ...LIMITS, blockSize: 4 })).rejects.toThrow(
      'none of them has a token to predict',
    )
  })
})

/** A tokenizer as another program writes it: tokens of words, with an end and a template of its own. */
function foreign(): Tokenizer {
  const vocab = { '<s>': 0, '</s>': 1, a: 2, ':': 3, b: 4, '<unk>': 5 }
  const added = ['<s>', '</s>'].map((content) => ({ id: content === '<s>' ? 0 : 1, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }))
  return tokenizerFromJson({
    'tokenizer.json': {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: added,
      normalizer: null,
      pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
      post_processor: null,
      decoder: null,
      model: { type: 'WordLevel', vocab, unk_token: '<unk>' },
    },
    'tokenizer_config.json': {
      bos_token: '<s>',
      eos_token: { content: '</s>' },
      chat_template:
        "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% else %}{{ ':' + m.content + eos_token }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ ':' }}{% endif %}",
    },
  })
}

describe('packRows', () => {
  it('cuts nothing, mixes nothing, and predicts as many tokens as before', () => {
    const lengths = fc.array(fc.integer({ min: 1, max: 16 }), { minLength: 1, maxLength: 60 })
    fc.assert(
      fc.property(lengths, (all) => {
        const documents = all.map((length, index) => ({ ids: new Array<number>(length).fill(index), labels: new Array<number>(length).fill(index), starts: null }))
        const rows = packRows(documents, 16)
        expect(rows.every(({ ids }) => ids.length <= 16)).toBe(true)
        const seen = rows.flatMap(({ ids, starts }) => Array.from(ids).filter((_, at) => starts?.[at] === at))
        expect(seen.toSorted((a, b) => a - b)).toEqual(all.map((_, index) => index))
        expect(rows.flatMap(({ ids }) => Array.from(ids)).length).toBe(all.reduce((sum, length) => sum + length, 0))
        const [before, after] = [new RowCorpus(documents, []), new RowCorpus(rows, [])]
        const items = (corpus: RowCorpus) => Array.from({ length: corpus.numTrainSamples }, (_, sample) => corpus.itemsOf(sample)).reduce((sum, some) => sum + some, 0)
        expect(items(after)).toBe(items(before))
        // At most one row is half empty or less: two such would have gone together.
        expect(rows.filter(({ ids }) => ids.length <= 8).length).toBeLessThanOrEqual(1)
      }),
    )
  })
})

describe('a corpus of rows', () => {
  const row = (...ids: number[]) => ({ ids, labels: ids.map((id) => (id % 2 === 0 ? IGNORED_LABEL : id)), starts: null })

  it('comes back equal from its wire form, packed or not', async () => {
    for (const rows of [[row(1, 2, 3), row(5, 7)], packRows([row(1, 3), row(5, 7, 9), row(11)], 4)]) {
      const corpus = new RowCorpus(rows, [row(3, 3, 3)])
      const read = await corpusFromBytes(corpus.toBytes(), await corpus.facts(), 4)
      expect(read).toEqual(corpus)
      for (const [sample, { ids, labels }] of rows.entries()) {
        expect([Array.from(read.row(sample).ids), Array.from(read.row(sample).labels)]).toEqual([ids, labels])
      }
    }
  })

  it('is refused when it is not what the facts say', async () => {
    const corpus = new RowCorpus([row(1, 2, 3)], [])
    const facts = await corpus.facts()
    await expect(corpusFromBytes(corpus.toBytes(), { ...facts, tokens: 4 }, 4)).rejects.toThrow('28 bytes are not 1 samples with 4 tokens')
    await expect(corpusFromBytes(corpus.toBytes(), { ...facts, trainSamples: 3, tokens: 2 }, 4)).rejects.toThrow('Cannot read the training data: its samples have')
  })

  it('pads rows with labels that are ignored, and goes on with the last document', () => {
    const corpus = new RowCorpus(packRows([row(1, 3, 5), row(7, 9), row(11, 13, 15, 17)], 5), [])
    const batch = makeBatch(corpus, [0, 1], 3)
    expect(batch.numItems).toBe(6)
    expect(batch.labels.filter((label) => label !== IGNORED_LABEL).length).toBe(6)
    expect(Array.from(batch.starts ?? [])).toEqual([0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
  })
})

describe('buildCorpus', () => {
  const records = async (content: string) => readDataFile('a.jsonl', utf8(content))

  it('holds rows out only when something is evaluated, and takes a file of its own before that', async () => {
    const train = await records(Array.from({ length: 40 }, (_, index) => `{"text":"row ${index}"}`).join('\n'))
    const build = async (evaluates: boolean, validation: Awaited<ReturnType<typeof records>> | null = null) => {
      const { corpus } = await buildCorpus({ train, validation }, { options: OPTIONS, tokenizer: null, model: null, evaluates })
      return [corpus.numTrainSamples, corpus.numValidationSamples]
    }
    expect(await build(false)).toEqual([40, 0])
    expect(await build(true)).toEqual([38, 2])
    expect(await build(true, await records('{"text":"other"}'))).toEqual([40, 1])
    await expect(build(true, { kind: 'text', name: 'b.txt', text: 'a' })).rejects.toThrow('Cannot evaluate on the text b.txt: the training data has rows, need rows')
  })

  it('needs no tokenizer for ids, and says when texts have none', async () => {
    const ids = await buildCorpus(
      { train: await records('{"input_ids":[1,9,3]}'), validation: null },
      { options: { ...OPTIONS, tokenizer: 'file' }, tokenizer: null, model: null, evaluates: false },
    )
    expect([ids.tokenizer.kind, ids.tokenizer.vocabSize]).toEqual(['ids', 10])
    const text = buildCorpus(
      { train: await records('{"text":"abc"}'), validation: null },
      { options: { ...OPTIONS, tokenizer: 'file' }, tokenizer: null, model: null, evaluates: false },
    )
    await expect(text).rejects.toThrow('Cannot tokenise: there is no tokenizer.json, need the one of the model')
  })

  it('says what was cut', async () => {
    const { notes } = await buildCorpus(
      { train: await records('{"text":"0123456789"}\n{"text":"01"}'), validation: null },
      { options: { ...OPTIONS, block_size: 4 }, tokenizer: null, model: null, evaluates: false },
    )
    expect(notes).toEqual(['1 of 2 training rows are longer than 4 tokens and were cut there: 6 tokens are lost'])
  })
})
