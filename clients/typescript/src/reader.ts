import type { Connection, Query } from "./connection.js";
import { errorOf, errorOfProblem, GapError, protocolError, TidemarkError, unreachable } from "./errors.js";
import { framesOf, type Frame } from "./frames.js";
import type { Place } from "./place.js";
import type { AuditProgress, Cursor, Event, Gap, GapFrame, HelloFrame, Problem } from "./types.js";
import { delayAfter, sleep } from "./waiting.js";

/** Which events are read. */
export interface Selection {
  /** Begin behind this event; without it at the first there is. */
  after?: Cursor | undefined;
  /** Only these types; a trailing `*` matches a family (`item.*`). */
  types?: readonly string[] | undefined;
  /** Only this turn's events. */
  turn?: string | undefined;
  /** With the agent's own lines, as `raw`. */
  raw?: boolean | undefined;
}

/** How they are read. */
export interface Reading {
  /**
   * What happens where events are not there any more: `error` (the default) throws a GapError, `value` gives a Gap
   * and goes on behind it.
   */
  gap?: "error" | "value" | undefined;
  /** Ends the reading; the iteration then ends without an error. */
  signal?: AbortSignal | undefined;
  /** For how long a server may be away before the reading fails, in milliseconds. By default 5 minutes. */
  retryFor?: number | undefined;
}

export interface EventOptions extends Selection, Reading {
  /** Begin where this consumer is (`putConsumer`, `acknowledge`); `after` wins. */
  consumer?: string | undefined;
}

/** What came of one connection to the stream. */
type Outcome = { over: true } | { over: false; failure: TidemarkError };

const silence = 45_000; // milliseconds: three heartbeats
const firstWait = 500; // milliseconds, until the server suggests one

/**
 * Reads a stream of events across any number of connections: each event once, in order, none left out.
 * @internal
 */
export class EventReader {
  readonly #connection: Connection;
  readonly #path: string;
  readonly #query: Query;
  readonly #place: Place;
  readonly #options: Reading;
  #retry = firstWait;
  #heard = false; // on this connection

  constructor(connection: Connection, path: string, query: Query, place: Place, options: Reading) {
    this.#connection = connection;
    this.#path = path;
    this.#query = query;
    this.#place = place;
    this.#options = options;
  }

  async *read(): AsyncGenerator<Event | Gap, void, undefined> {
    const { signal, retryFor = 300_000 } = this.#options;
    let failures = 0;
    let awaySince = Date.now();
    while (!signal?.aborted) {
      this.#heard = false;
      this.#place.connect();
      const outcome = yield* this.#connect();
      if (outcome.over || signal?.aborted) return;
      if (this.#heard && outcome.failure.code !== "protocol") {
        failures = 0;
        awaySince = Date.now();
      }
      const wait = delayAfter(failures++, this.#retry, outcome.failure.retryAfter);
      if (!outcome.failure.retryable || Date.now() + wait - awaySince > retryFor) throw outcome.failure;
      await sleep(wait, signal);
    }
  }

  async *#connect(): AsyncGenerator<Event | Gap, Outcome, undefined> {
    const { signal } = this.#options;
    const attempt = new AbortController();
    const stop = () => attempt.abort(signal?.reason);
    signal?.addEventListener("abort", stop);
    try {
      const response = await this.#connection.attempt(this.#path, {
        headers: { Accept: "text/event-stream" },
        query: { ...this.#query, after: this.#place.cursor },
        signal: attempt.signal,
      });
      if (response.status === 204) return { over: true };
      if (!response.ok || response.body === null) return { over: false, failure: await errorOf(response) };
      return yield* this.#follow(framesOf(response.body, silence));
    } catch (failure) {
      if (signal?.aborted) return { over: true };
      if (failure instanceof GapError || !(failure instanceof TidemarkError)) throw failure;
      return { over: false, failure };
    } finally {
      signal?.removeEventListener("abort", stop);
      attempt.abort();
    }
  }

  async *#follow(frames: AsyncIterable<Frame>): AsyncGenerator<Event | Gap, Outcome, undefined> {
    for await (const frame of frames) {
      if (this.#options.signal?.aborted) return { over: true };
      if (frame.retry !== undefined) this.#retry = frame.retry;
      const data = parse(frame);
      if (frame.type === "overload") return { over: false, failure: overloaded(this.#retry) };
      if (this.#place.expectsGap && frame.type !== "gap")
        return { over: false, failure: protocolError("the stream went on elsewhere without a word") };
      this.#heard = true;
      switch (frame.type) {
        case "hello":
          this.#place.begin(data as HelloFrame);
          break;
        case "gap":
          yield this.#pass(data as GapFrame);
          break;
        case "progress":
          this.#place.passBy(data as AuditProgress);
          break;
        case "end":
          return { over: true };
        case "error":
          return { over: false, failure: errorOfProblem(data as Problem) };
        default:
          if (this.#place.take(data as Event, frame.id)) yield data as Event;
      }
    }
    return { over: false, failure: unreachable(new Error("the stream ended")) };
  }

  #pass(frame: GapFrame): Gap {
    const gap: Gap = { type: "gap", ...frame, first: frame.first ?? 1 };
    if (this.#options.gap !== "value") throw new GapError(gap);
    this.#place.leap(gap);
    return gap;
  }
}

function parse(frame: Frame): unknown {
  try {
    return JSON.parse(frame.data);
  } catch {
    throw protocolError(`a frame "${frame.type}" is no JSON`);
  }
}

function overloaded(retryAfter: number): TidemarkError {
  return new TidemarkError({
    code: "overload",
    status: 200,
    detail: "the server has too many readers",
    retryable: true,
    retryAfter,
  });
}
