import { language } from "./preferences";
import { en } from "./words/en";
import { zh } from "./words/zh";

export type Word = keyof typeof en;

/**
 * The words in the page's language; `{name}` stands for a value, `{name|one|several}` for it and the word
 * that goes with it.
 */
export function t(word: Word, values: Record<string, string | number> = {}): string {
  const pattern: string = language.value === "zh" ? zh[word] : en[word];
  const place = /\{(\w+)(?:\|([^|}]*)\|([^}]*))?\}/g;
  return pattern.replace(place, (whole, name: string, one?: string, several?: string) => {
    const value = String(values[name] ?? whole);
    return one === undefined ? value : `${value} ${value === "1" ? one : several}`;
  });
}

export function isWord(key: string): key is Word {
  return key in en;
}
