/** Waits so many milliseconds, or until the signal; never rejects. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}

/** The longest that a client waits by itself between two attempts, in milliseconds. */
const longestWait = 30_000;

/**
 * How long to wait before the next attempt, in milliseconds: doubled with every failure in a row, up to 30 s, and
 * spread by half, so that many clients do not come back at once. Never shorter than what the server asked for.
 *
 * @param failures attempts in a row that came to nothing, from 0
 * @param base the wait after the first, in milliseconds
 * @param asked what the server asked for, in milliseconds
 * @param random from 0 to 1
 */
export function delayAfter(failures: number, base: number, asked = 0, random = Math.random()): number {
  const doubled = Math.min(base * 2 ** Math.min(failures, 16), Math.max(longestWait, base));
  return Math.max(asked, doubled) * (1 + random / 2);
}
