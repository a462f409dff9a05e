import { effect, signal } from "@preact/signals";

export type Language = "en" | "zh";
export type Theme = "system" | "light" | "dark";

function stored<T extends string>(key: string, allowed: readonly T[], otherwise: T): T {
  const value = localStorage.getItem(key);
  return allowed.includes(value as T) ? (value as T) : otherwise;
}

const spoken: Language = navigator.language.toLowerCase().startsWith("zh") ? "zh" : "en";
export const language = signal<Language>(stored("tidemark.language", ["en", "zh"], spoken));
export const theme = signal<Theme>(stored("tidemark.theme", ["system", "light", "dark"], "system"));

const darkSystem = matchMedia("(prefers-color-scheme: dark)");
/** Whether the page is dark now, whoever decided it. */
export const isDark = signal(darkSystem.matches);

const small = matchMedia("(max-width: 760px)"); // as in style.css
/** Whether the page is as narrow as a phone. */
export const isNarrow = signal(small.matches);
small.addEventListener("change", () => (isNarrow.value = small.matches));

effect(() => {
  localStorage.setItem("tidemark.language", language.value);
  document.documentElement.lang = language.value === "zh" ? "zh-CN" : "en";
});

const apply = () => {
  isDark.value = theme.value === "system" ? darkSystem.matches : theme.value === "dark";
  document.documentElement.dataset.theme = isDark.value ? "dark" : "light";
};
effect(() => {
  localStorage.setItem("tidemark.theme", theme.value);
  apply();
});
darkSystem.addEventListener("change", apply);
