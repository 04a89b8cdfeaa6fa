import type { ChatMessage } from './sample-source.ts'
import type { Tokenizer } from './tokenizer.ts'

/** A piece of a rendered conversation. */
export interface ChatPiece {
  readonly text: string
  /** Whether the assistant wrote it. */
  readonly answer: boolean
}

/** How a conversation becomes text where a tokenizer brings no template: ChatML. */
const CHATML = `{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`

export type RenderChat = (messages: readonly ChatMessage[], answersFrom: number) => ChatPiece[]

/** The template of tokenizer_config.json, else ChatML. The engine for templates is loaded only where there are chats. */
export async function chatRenderer(tokenizer: Tokenizer): Promise<RenderChat> {
  const { Template } = await import('@huggingface/jinja')
  const config = tokenizer.files(0)?.['tokenizer_config.json'] ?? {}
  const template = new Template(templateOf(config['chat_template']) ?? CHATML)
  const tokens = Object.fromEntries(['bos_token', 'eos_token', 'pad_token', 'unk_token'].map((key) => [key, tokenText(config[key]) ?? '']))
  return (messages, answersFrom) => pieces(messages, answersFrom, (some, add_generation_prompt) => template.render({ ...tokens, messages: some, add_generation_prompt }))
}

/** A special token is written as its text or as an object with it. */
export function tokenText(value: unknown): string | null {
  if (typeof value === 'string') return value
  const { content }: { readonly content?: unknown } = Object(value)
  return typeof content === 'string' ? content : null
}

/** One template, or several with names, of which `default` is meant. */
function templateOf(value: unknown): string | null {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return null
  const named: readonly { readonly name?: unknown; readonly template?: unknown }[] = value.map((one: unknown) => Object(one))
  const template = (named.find(({ name }) => name === 'default') ?? named[0])?.template
  return typeof template === 'string' ? template : null
}

/**
 * An answer is what the template adds for an assistant's message to the prompt for it.
 * @throws when a template renders earlier messages in another way once later ones follow: then nobody can tell what the answer is.
 */
function pieces(messages: readonly ChatMessage[], answersFrom: number, render: (messages: readonly ChatMessage[], prompt: boolean) => string): ChatPiece[] {
  const whole = render(messages, false)
  const found: ChatPiece[] = []
  let done = ''
  for (const [index, { role }] of messages.entries()) {
    if (role !== 'assistant' || index < answersFrom) continue
    const before = render(messages.slice(0, index), true)
    const after = render(messages.slice(0, index + 1), false)
    if (!before.startsWith(done) || !after.startsWith(before) || !whole.startsWith(after)) {
      throw new Error(`the chat template does not write message ${index + 1} behind the ones before it, need a template that does`)
    }
    found.push({ text: before.slice(done.length), answer: false }, { text: after.slice(before.length), answer: true })
    done = after
  }
  found.push({ text: whole.slice(done.length), answer: false })
  return found.filter(({ text }) => text !== '')
}
