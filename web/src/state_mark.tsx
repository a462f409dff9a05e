import type { JSX } from "preact";
import { isWord, t } from "./i18n";

/** A state or an outcome: its colour never stands alone. */
export function State({ of }: { of: string }): JSX.Element {
  const word = `state.${of}`;
  return (
    <span class={`state ${of}`}>
      <span class={`dot ${of}`} aria-hidden="true" />
      {isWord(word) ? t(word) : of}
    </span>
  );
}
