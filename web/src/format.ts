import { signal } from "@preact/signals";
import { language } from "./preferences";

export { duration } from "./duration";

/** The time of the page; what shows ages reads it. */
export const now = signal(Date.now());
setInterval(() => {
  if (document.visibilityState === "visible") now.value = Date.now();
}, 1000);

function locale(): string {
  return language.value === "zh" ? "zh-CN" : "en-GB";
}

/** How long ago, in the shortest form. */
export function age(time: string): string {
  const seconds = Math.floor(Math.max(0, (now.value - Date.parse(time)) / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  return seconds < 86400 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86400)} d`;
}

export function clock(time: string | number, withMs = false): string {
  return new Intl.DateTimeFormat(locale(), {
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    fractionalSecondDigits: withMs ? 3 : undefined,
    hourCycle: "h23",
  }).format(new Date(time));
}

export function moment(time: string | number): string {
  return new Intl.DateTimeFormat(locale(), {
    month: "short",
    day: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    hourCycle: "h23",
  }).format(new Date(time));
}

export function count(value: number): string {
  return new Intl.NumberFormat(locale()).format(value);
}

export function compact(value: number): string {
  return new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(
    value,
  );
}

export function money(usd: number): string {
  if (usd === 0) return "–";
  return `$${usd < 0.1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}

export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  return `${value < 10 && unit > 0 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export function percent(part: number): string {
  return `${Math.round(part * 1000) / 10} %`;
}
