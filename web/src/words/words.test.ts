/// <reference types="vite/client" />
import { describe, expect, it } from "vitest";
import { en } from "./en";
import { zh } from "./zh";

const sources = Object.values(
  import.meta.glob<string>(["../**/*.{ts,tsx}", "!../**/*.test.ts", "!./*.ts"], {
    query: "?raw",
    import: "default",
    eager: true,
  }),
).join("\n");

function all(pattern: RegExp, where = sources): string[] {
  return [...where.matchAll(pattern)].map(([, found]) => found!);
}

describe("the words of the page", () => {
  it("are there in both languages, with the same places for values", () => {
    expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
    const places = (words: string) => all(/\{(\w+)[|}]/g, words).sort();
    for (const [key, words] of Object.entries(en)) {
      const other = zh[key as keyof typeof en];
      expect(other.trim(), key).not.toBe("");
      expect(places(other), key).toEqual(places(words));
    }
  });

  it("are all used, and all that are used are there", () => {
    const families = new Set(all(/`([a-z_.]+\.)\$\{/g)); // t(`state.${of}`)
    const named = new Set(all(/"([a-z]+(?:\.[a-z_0-9]+)+)"/g));
    const isUsed = (key: string) =>
      named.has(key) || families.has(key.slice(0, key.lastIndexOf(".") + 1));
    expect(Object.keys(en).filter((key) => !isUsed(key))).toEqual([]);
    const called = all(/\bt\(\s*"([^"]+)"/g);
    expect(called.length).toBeGreaterThan(80);
    expect(called.filter((key) => !(key in en))).toEqual([]);
  });
});
