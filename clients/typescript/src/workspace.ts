import type { Connection } from "./connection.js";
import { StreamPlace } from "./place.js";
import { EventReader, type EventOptions } from "./reader.js";
import { cursorOf } from "./types.js";
import type {
  Consumer, Cursor, Decision, DecisionRequest, Event, EventEnvelope, Gap, Permissions, Turn, TurnAccepted, TurnCancelled,
  TurnRequest, Verification, WorkspaceInfo,
} from "./types.js";

export interface CallOptions {
  signal?: AbortSignal | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** A submit with the same key and the same rest gives the same turn. By default one is made up for each call. */
  idempotencyKey?: string | undefined;
  /** Who asks; kept with the turn. */
  source?: string | undefined;
  /** Variables of this turn's agent; the server never stores their values. */
  env?: Record<string, string> | undefined;
  model?: string | undefined;
  /** If the server dies while the turn runs: end it as `interrupted` (the default), or run it again. */
  onRestart?: "interrupt" | "retry" | undefined;
  /** Whole seconds. */
  timeoutS?: number | undefined;
  metadata?: Record<string, unknown> | undefined;
}

export interface TurnsOptions extends CallOptions {
  /** Turns a request, at most 500. */
  pageSize?: number | undefined;
  /** Only turns older than this one. */
  before?: string | undefined;
}

export interface DecideOptions extends CallOptions {
  /** For the agent, with a denial. */
  message?: string | undefined;
  /** To a question that is allowed: the text of each of its questions, and the answer. */
  answers?: Record<string, string> | undefined;
}

/** One workspace. It need not be there: the first turn makes it. */
export class Workspace {
  readonly id: string;
  readonly #connection: Connection;
  readonly #path: string;

  /** @internal */
  constructor(connection: Connection, id: string) {
    this.id = id;
    this.#connection = connection;
    this.#path = `/api/v1/workspaces/${encodeURIComponent(id)}`;
  }

  /** Enqueues a prompt. Exactly one turn comes of it, also if an answer is lost and the call tried again. */
  submit(prompt: string, options: SubmitOptions = {}): Promise<TurnAccepted> {
    const body: TurnRequest = { prompt };
    if (options.source !== undefined) body.source = options.source;
    if (options.env !== undefined) body.env = options.env;
    if (options.model !== undefined) body.model = options.model;
    if (options.onRestart !== undefined) body.on_restart = options.onRestart;
    if (options.timeoutS !== undefined) body.timeout_s = options.timeoutS;
    if (options.metadata !== undefined) body.metadata = options.metadata;
    return this.#connection.json<TurnAccepted>(`${this.#path}/turns`, {
      method: "POST",
      headers: { "Idempotency-Key": options.idempotencyKey ?? newKey() },
      body,
      repeatable: true,
      signal: options.signal,
    });
  }

  /** One turn, with its result if it has ended. */
  turn(turn: string, options: CallOptions = {}): Promise<Turn> {
    return this.#connection.json<Turn>(this.#turn(turn), { signal: options.signal });
  }

  /** All turns, newest first, fetched page by page. */
  async *turns(options: TurnsOptions = {}): AsyncGenerator<Turn, void, undefined> {
    let before = options.before;
    do {
      const page: { turns: Turn[]; next: string | null } = await this.#connection.json(`${this.#path}/turns`, {
        query: { limit: options.pageSize, before },
        signal: options.signal,
      });
      yield* page.turns;
      before = page.next ?? undefined;
    } while (before !== undefined);
  }

  /** Cancels exactly this turn, queued or running. */
  cancel(turn: string, options: CallOptions = {}): Promise<TurnCancelled> {
    return this.#connection.json<TurnCancelled>(this.#turn(turn), {
      method: "DELETE",
      repeatable: true,
      signal: options.signal,
    });
  }

  /** Asks the agent to stop this turn; it is stopped if it does not. */
  interrupt(turn: string, options: CallOptions = {}): Promise<TurnCancelled> {
    return this.#connection.json<TurnCancelled>(`${this.#turn(turn)}/interrupt`, {
      method: "POST",
      repeatable: true,
      signal: options.signal,
    });
  }

  /**
   * The workspace's events, as they happened and as they happen: each once, in order, none left out, whatever becomes
   * of the connection or the server. Ends when the workspace is deleted, or with `signal`.
   * @throws TidemarkError where the server refuses, or is away for longer than `retryFor`; GapError where events are gone
   */
  events(options?: EventOptions & { gap?: "error" | undefined }): AsyncGenerator<Event, void, undefined>;
  events(options: EventOptions & { gap: "value" }): AsyncGenerator<Event | Gap, void, undefined>;
  events(options: EventOptions = {}): AsyncGenerator<Event | Gap, void, undefined> {
    const { after, types, turn, raw, consumer } = options;
    const place = new StreamPlace(after, !types?.length && turn === undefined);
    const query = { types: types?.length ? types.join(",") : undefined, turn, raw: raw || undefined, consumer };
    return new EventReader(this.#connection, `${this.#path}/events`, query, place, options).read();
  }

  /** Waits until the turn has ended, however that may be (`status` says how), and gives it back. */
  async result(turn: string, options: CallOptions & Pick<EventOptions, "retryFor"> = {}): Promise<Turn> {
    const found = await this.turn(turn, options);
    if (found.ended !== null) return found;
    const ends = this.events({
      ...options,
      after: found.queued_at,
      turn,
      types: ["turn.completed"],
      gap: "value",
    });
    for await (const what of ends) {
      if (what.type !== "gap") break;
      if ((await this.turn(turn, options)).ended !== null) break; // its end may lie in the gap
    }
    options.signal?.throwIfAborted();
    return this.turn(turn, options);
  }

  /**
   * Makes a consumer, a reader whose place the server keeps; one that is there stays where it is.
   * @param from `first` (the default), `head`, or the cursor of the last event that it does not want
   */
  putConsumer(name: string, options: CallOptions & { from?: Cursor | undefined } = {}): Promise<Consumer> {
    return this.#connection.json<Consumer>(this.#consumer(name), {
      method: "PUT",
      body: options.from === undefined ? {} : { from: String(options.from) },
      repeatable: true,
      signal: options.signal,
    });
  }

  /** Where a consumer is, and how many events wait for it (`lag`). */
  consumer(name: string, options: CallOptions = {}): Promise<Consumer> {
    return this.#connection.json<Consumer>(this.#consumer(name), { signal: options.signal });
  }

  /** All of the workspace, webhooks included. */
  async consumers(options: CallOptions = {}): Promise<Consumer[]> {
    const path = `${this.#path}/consumers`;
    return (await this.#connection.json<{ consumers: Consumer[] }>(path, { signal: options.signal })).consumers;
  }

  /**
   * The consumer is done with all events up to this one (an event, or its cursor). Durable when it resolves; moves
   * forward only.
   */
  acknowledge(name: string, upto: Cursor | EventEnvelope, options: CallOptions = {}): Promise<Consumer> {
    return this.#connection.json<Consumer>(`${this.#consumer(name)}/ack`, {
      method: "POST",
      body: { offset: typeof upto === "object" ? cursorOf(upto) : upto },
      repeatable: true,
      signal: options.signal,
    });
  }

  /** Forgets a consumer and its place. */
  deleteConsumer(name: string, options: CallOptions = {}): Promise<void> {
    return this.#connection.json<void>(this.#consumer(name), { method: "DELETE", signal: options.signal });
  }

  /** What the agent waits for a person to decide, oldest first, and what persons have allowed for good. */
  permissions(options: CallOptions = {}): Promise<Permissions> {
    return this.#connection.json<Permissions>(`${this.#path}/permissions`, { signal: options.signal });
  }

  /**
   * Decides on a request that waits. The first decision counts; it is not tried again by itself.
   * @throws TidemarkError with status 409 where it was settled before, 404 where no such request waits
   */
  decide(permission: string, decision: DecisionRequest["decision"], options: DecideOptions = {}): Promise<Decision> {
    const body: DecisionRequest = { decision };
    if (options.message !== undefined) body.message = options.message;
    if (options.answers !== undefined) body.answers = options.answers;
    return this.#connection.json<Decision>(`${this.#path}/permissions/${encodeURIComponent(permission)}`, {
      method: "POST",
      body,
      signal: options.signal,
    });
  }

  /** People are asked again for what this rule allows. */
  async removeRule(rule: string, options: CallOptions = {}): Promise<void> {
    await this.#connection.json(`${this.#path}/permissions/rules/${encodeURIComponent(rule)}`, {
      method: "DELETE",
      signal: options.signal,
    });
  }

  /** What the server knows of the workspace. */
  info(options: CallOptions = {}): Promise<WorkspaceInfo> {
    return this.#connection.json<WorkspaceInfo>(this.#path, { signal: options.signal });
  }

  /** Has the server check that no event was altered or removed. It reads all of them. */
  verify(options: CallOptions = {}): Promise<Verification> {
    return this.#connection.json<Verification>(`${this.#path}/verify`, { signal: options.signal });
  }

  #consumer(name: string): string {
    return `${this.#path}/consumers/${encodeURIComponent(name)}`;
  }

  #turn(turn: string): string {
    return `${this.#path}/turns/${encodeURIComponent(turn)}`;
  }
}

/** `crypto.randomUUID` is not there on pages that came without TLS. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
