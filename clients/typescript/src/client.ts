import { Connection } from "./connection.js";
import type { Health, Readiness, WorkspaceInfo } from "./types.js";
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

  health(options: CallOptions = {}): Promise<Health> {
    return this.#connection.json<Health>("/health", options);
  }

  /** Whether new work should be sent to this server, and if not, why. */
  ready(options: CallOptions = {}): Promise<Readiness> {
    const accept = (status: number) => status === 200 || status === 503;
    return this.#connection.json<Readiness>("/ready", { ...options, accept });
  }
}
