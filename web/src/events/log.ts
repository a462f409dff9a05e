import { signal } from "@preact/signals";
import { call, CallError, query } from "../api";
import { follow, isEvent } from "../feed";
import type { AuditPage, Envelope } from "../types";

/** What is asked of the log of all workspaces; empty strings ask nothing. */
export interface Search {
  workspace: string;
  types: string;
  turn: string;
  tool: string;
  outcome: string;
  text: string;
  from: string;
  to: string;
}

export const searchFields = [
  "workspace",
  "types",
  "turn",
  "tool",
  "outcome",
  "text",
  "from",
  "to",
] as const;

const pageSize = 1000;
const most = 100_000;
const paintInterval = 120;
const retryInterval = 2000;

export function searchOf(values: URLSearchParams): Search {
  const out = {} as Search;
  for (const field of searchFields) out[field] = values.get(field) ?? "";
  return out;
}

/** As the server reads it: times with a zone, lists without blanks. */
export function parametersOf(search: Search): Record<string, string> {
  const out: Record<string, string> = {};
  for (const field of searchFields) {
    const value = search[field].trim();
    if (!value) continue;
    if (field === "from" || field === "to") {
      const time = new Date(value);
      if (!Number.isNaN(time.getTime())) out[field] = time.toISOString();
    } else {
      out[field] =
        field === "types" || field === "workspace" ? value.replace(/\s*,\s*|\s+/g, ",") : value;
    }
  }
  return out;
}

/** The events that match, newest first: older ones are read as they are wanted, new ones as they come. */
export class EventLog {
  rows: Envelope[] = [];
  readonly version = signal(0);
  readonly state = signal<"searching" | "more" | "complete" | "failed">("searching");
  readonly detail = signal("");
  readonly reached = signal("");

  private readonly stopped = new AbortController();
  private readonly parameters: Record<string, string>;
  private next: string | undefined;
  private reading = false;
  private arrived: Envelope[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private retrying: ReturnType<typeof setTimeout> | undefined;

  constructor(search: Search, live: boolean) {
    this.parameters = parametersOf(search);
    void this.begin(live);
  }

  close(): void {
    this.stopped.abort();
    clearTimeout(this.timer);
    clearTimeout(this.retrying);
  }

  private async begin(live: boolean): Promise<void> {
    try {
      const newest = await call<AuditPage>(
        `/api/v1/events${query({ order: "newest", limit: 1 })}`,
        {
          signal: this.stopped.signal,
        },
      );
      this.next = String(newest.head + 1);
      if (live && !this.parameters.to) this.listen(newest.head);
      await this.readOlder(200);
    } catch (failure) {
      this.fail(failure, () => void this.begin(live));
    }
  }

  async readOlder(limit = pageSize): Promise<void> {
    if (
      this.reading ||
      this.next === undefined ||
      this.state.value === "complete" ||
      this.rows.length >= most
    )
      return;
    this.reading = true;
    this.state.value = "searching";
    try {
      // A page may end for its time without having found anything: the search goes on from there.
      for (let found = 0; found === 0;) {
        const path: string = `/api/v1/events${query({ ...this.parameters, order: "newest", limit, after: this.next })}`;
        const page: AuditPage = await call<AuditPage>(path, { signal: this.stopped.signal });
        this.next = page.next;
        this.reached.value = page.next;
        found = page.events.length;
        this.rows = this.rows.concat(page.events);
        this.version.value += 1;
        this.state.value = page.complete ? "complete" : "more";
        if (page.complete) break;
      }
    } catch (failure) {
      this.fail(failure, () => void this.readOlder(limit));
    } finally {
      this.reading = false;
    }
  }

  /** Says why, and tries again unless the server has refused. */
  private fail(failure: unknown, again: () => void): void {
    if (this.stopped.signal.aborted) return;
    this.state.value = "failed";
    this.detail.value = failure instanceof Error ? failure.message : String(failure);
    const refused = failure instanceof CallError && failure.status < 500 && failure.status !== 429;
    if (!refused) this.retrying = setTimeout(again, retryInterval);
  }

  private listen(head: number): void {
    const stop = follow({
      path: `/api/v1/events${query(this.parameters)}`,
      after: String(head),
      onState: () => undefined,
      onFrame: (frame) => {
        if (!isEvent(frame)) return;
        this.arrived.push(JSON.parse(frame.data) as Envelope);
        this.timer ??= setTimeout(() => this.show(), paintInterval);
      },
    });
    this.stopped.signal.addEventListener("abort", stop);
  }

  private show(): void {
    this.timer = undefined;
    this.rows = this.arrived.reverse().concat(this.rows).slice(0, most);
    this.arrived = [];
    this.version.value += 1;
  }
}
