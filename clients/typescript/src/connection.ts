import { errorOf, TidemarkError, unreachable } from "./errors.js";
import { delayAfter, sleep } from "./waiting.js";

export type Query = Record<string, string | number | boolean | undefined>;

export interface Call {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  query?: Query;
  headers?: Record<string, string>;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** Whether to do it twice is as good as once, so that it may be tried again. */
  repeatable?: boolean;
  /** Which statuses come with the value that is wanted; by default 2xx. */
  accept?: (status: number) => boolean;
}

const firstWait = 250; // milliseconds

/** One server and how to talk to it. */
export class Connection {
  readonly #url: string;
  readonly #token: string | undefined;
  readonly #retryFor: number;
  readonly #fetch: typeof fetch;

  constructor(url: string | URL, token: string | undefined, retryFor: number, use: typeof fetch) {
    this.#url = String(url).replace(/\/+$/, "");
    this.#token = token;
    this.#retryFor = retryFor;
    this.#fetch = use;
  }

  /** One attempt. Any status is an answer; rejects with a TidemarkError if there was none, or as `signal` says. */
  async attempt(path: string, call: Call): Promise<Response> {
    const url = new URL(this.#url + path);
    for (const [name, value] of Object.entries(call.query ?? {}))
      if (value !== undefined) url.searchParams.set(name, String(value));
    const headers = new Headers(call.headers);
    if (this.#token !== undefined) headers.set("Authorization", `Bearer ${this.#token}`);
    if (call.body !== undefined) headers.set("Content-Type", "application/json");
    try {
      return await this.#fetch(url, {
        method: call.method ?? "GET",
        headers,
        body: call.body === undefined ? null : JSON.stringify(call.body),
        signal: call.signal ?? null,
        cache: "no-store",
      });
    } catch (failure) {
      if (call.signal?.aborted) throw call.signal.reason;
      throw unreachable(failure);
    }
  }

  /** The answer's JSON. What may be repeated is, as long as the server is away or says that it is worth it. */
  async json<T>(path: string, call: Call = {}): Promise<T> {
    const repeatable = call.repeatable ?? (call.method ?? "GET") === "GET";
    const until = Date.now() + this.#retryFor;
    for (let failures = 0; ; ++failures) {
      const result = await this.#once<T>(path, call);
      if ("value" in result) return result.value;
      const wait = delayAfter(failures, firstWait, result.failure.retryAfter);
      if (!repeatable || !result.failure.retryable || Date.now() + wait > until) throw result.failure;
      await sleep(wait, call.signal);
      call.signal?.throwIfAborted();
    }
  }

  async #once<T>(path: string, call: Call): Promise<{ value: T } | { failure: TidemarkError }> {
    try {
      const response = await this.attempt(path, call);
      if (!(call.accept?.(response.status) ?? response.ok)) return { failure: await errorOf(response) };
      if (response.status === 204) return { value: undefined as T };
      try {
        return { value: (await response.json()) as T };
      } catch (failure) {
        call.signal?.throwIfAborted();
        return { failure: unreachable(failure) }; // it broke off in the middle
      }
    } catch (failure) {
      if (failure instanceof TidemarkError) return { failure };
      throw failure;
    }
  }
}
