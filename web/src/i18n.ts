import { language } from "./preferences";
import { en } from "./words/en";
import { zh } from "./words/zh";

export type Word = keyof typeof en;

/** The words in the page's language; `{name}` stands for a value. */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  const pattern: string = language.value === "zh" ? zh[word] : en[word];
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

export function isWord(key: string): key is Word {
  return key in en;
}
