// Reading what others wrote: a field that is not there, or of another kind, is an empty value.

type Fields = Record<string, unknown>;

export function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

export function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function number(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** A tool's content: a string, or the text blocks of a list. */
export function flatText(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    return value
      .map((part) => text(fields(part).text) || (typeof part === "string" ? part : pretty(part)))
      .join("\n");
  }
  return value === undefined || value === null ? "" : pretty(value);
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2) ?? "";
}
