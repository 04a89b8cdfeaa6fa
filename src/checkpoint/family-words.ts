const FAMILIES: Readonly<Record<string, string>> = {
  gpt2: 'A GPT-2',
  llama: 'A Llama',
  mistral: 'A Mistral',
  qwen2: 'A Qwen2',
  qwen3: 'A Qwen3',
  stablelm: 'A StableLM',
  gpt_neox: 'A GPT-NeoX',
}

/** How a sentence begins that is about a model of this `model_type`. */
export function familyWords(modelType: string): string {
  return FAMILIES[modelType] ?? modelType
}
