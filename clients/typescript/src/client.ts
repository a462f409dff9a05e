import { Connection, type Query } from "./connection.js";
import { LogPlace } from "./place.js";
import { EventReader, type Reading, type Selection } from "./reader.js";
import type { AuditPage, Event, Gap, Health, PendingPermission, Readiness, WorkspaceInfo } from "./types.js";
import { Workspace, type CallOptions } from "./workspace.js";

export interface TidemarkOptions {
  /** For example `http://127.0.0.1:7021`. */
  url: string | URL;
  token?: string | undefined;
  /**
   * For how long a call that may be repeated is, while the server is away or asks to come back later; in milliseconds,
   * by default 10 s. Streams of events have a time of their own.
   */
  retryFor?: number | undefined;
  /** Another `fetch` than the global one. */
  fetch?: typeof fetch | undefined;
}

/** Events of all workspaces: every condition that is given must hold. */
export interface AuditSelection extends Selection {
  /** Any of these. */
  workspaces?: readonly string[] | undefined;
  /** Calls of this tool and permissions for it. */
  tool?: string | undefined;
  /** Ends of turns that came out so. */
  outcome?: string | undefined;
  /** Stands in the event's data, letter for letter. */
  text?: string | undefined;
  /** Not before this. */
  since?: Date | string | undefined;
  /** Before this. */
  until?: Date | string | undefined;
}

export interface SearchOptions extends AuditSelection, CallOptions {
  newestFirst?: boolean | undefined;
  /** Events a request, at most 10,000. */
  pageSize?: number | undefined;
}

/** A Tidemark server. Holds no connection: nothing has to be closed. */
export class Tidemark {
  readonly #connection: Connection;

  constructor(options: TidemarkOptions) {
    const { url, token, retryFor = 10_000, fetch: use = (...call) => fetch(...call) } = options;
    this.#connection = new Connection(url, token, retryFor, use);
  }

  workspace(id: string): Workspace {
    return new Workspace(this.#connection, id);
  }

  /** All workspaces. */
  async workspaces(options: CallOptions = {}): Promise<WorkspaceInfo[]> {
    const list = await this.#connection.json<{ workspaces: WorkspaceInfo[] }>("/api/v1/workspaces", options);
    return list.workspaces;
  }

  /** What agents wait for people to decide, in all workspaces. */
  async permissions(options: CallOptions = {}): Promise<PendingPermission[]> {
    const list = await this.#connection.json<{ pending: PendingPermission[] }>("/api/v1/permissions", options);
    return list.pending;
  }

  /**
   * The events of all workspaces that fit, up to now, fetched page by page. `after` is a place in the direction of the
   * search: an event's `position`.
   */
  async *search(options: SearchOptions = {}): AsyncGenerator<Event, void, undefined> {
    const { newestFirst, pageSize, signal } = options;
    let after = options.after;
    let complete = false;
    while (!complete) {
      const page = await this.#connection.json<Omit<AuditPage, "events"> & { events: Event[] }>("/api/v1/events", {
        query: { ...queryOf(options), order: newestFirst ? "newest" : undefined, limit: pageSize, after },
        signal,
      });
      yield* page.events;
      after = page.next;
      complete = page.complete;
    }
  }

  /**
   * The events of all workspaces that fit, as they happened and as they happen, in the order in which they were stored:
   * each once, none left out. `after` is an event's `position`.
   * @throws as Workspace.events
   */
  events(options?: AuditSelection & Reading & { gap?: "error" | undefined }): AsyncGenerator<Event, void, undefined>;
  events(options: AuditSelection & Reading & { gap: "value" }): AsyncGenerator<Event | Gap, void, undefined>;
  events(options: AuditSelection & Reading = {}): AsyncGenerator<Event | Gap, void, undefined> {
    const place = new LogPlace(options.after);
    return new EventReader(this.#connection, "/api/v1/events", queryOf(options), place, options).read();
  }

  health(options: CallOptions = {}): Promise<Health> {
    return this.#connection.json<Health>("/health", options);
  }

  /** Whether new work should be sent to this server, and if not, why. */
  ready(options: CallOptions = {}): Promise<Readiness> {
    const accept = (status: number) => status === 200 || status === 503;
    return this.#connection.json<Readiness>("/ready", { ...options, accept });
  }
}

function queryOf(what: AuditSelection): Query {
  const time = (at: Date | string | undefined) => (at instanceof Date ? at.toISOString() : at);
  return {
    workspace: what.workspaces?.length ? what.workspaces.join(",") : undefined,
    types: what.types?.length ? what.types.join(",") : undefined,
    turn: what.turn,
    tool: what.tool,
    outcome: what.outcome,
    text: what.text,
    from: time(what.since),
    to: time(what.until),
    raw: what.raw || undefined,
  };
}
