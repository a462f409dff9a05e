import { signal } from "@preact/signals";
import { call, query, workspacePath } from "../api";
import { follow, isEvent } from "../feed";
import type { AuditPage, Envelope, Queue, WorkspaceInfo } from "../types";
import { fields, number, text } from "../values";

export type SpaceState = "waiting" | "running" | "queued" | "failed" | "idle";

/** What is known of one workspace without opening it. */
export interface Space {
  id: string;
  running: { turn: string; preview: string; since: string } | null;
  queue: Map<string, string>; // turn -> what it is about
  open: Set<string>; // permissions that nobody has decided
  outcome: string; // of the last turn that ended
  said: string; // its first line
  lastType: string;
  lastTime: string;
  cost: number; // of the last 24 hours
}

/** A turn that has ended, for the figures. */
export interface EndedTurn {
  time: number;
  outcome: string;
  duration: number;
  cost: number;
  workspace: string;
  position: number;
}

const day = 24 * 3600 * 1000;
const listInterval = 30_000;
const paintInterval = 200;
const mostTurns = 20_000;
const recent = 2000; // events that tell of each workspace what came last
const heard =
  "turn.*,permission.*,question.*,workspace.*,session.*,item.started,item.completed,fault,shell.*";

export function emptySpace(id: string): Space {
  return {
    id,
    running: null,
    queue: new Map(),
    open: new Set(),
    outcome: "",
    said: "",
    lastType: "",
    lastTime: "",
    cost: 0,
  };
}

export function stateOf(space: Space): SpaceState {
  if (space.open.size > 0) return "waiting";
  if (space.running) return "running";
  if (space.queue.size > 0) return "queued";
  return space.outcome === "failed" ? "failed" : "idle";
}

function firstLine(value: string): string {
  return value.trimStart().split("\n", 1)[0]?.slice(0, 200) ?? "";
}

/** Takes an event of the feed of all workspaces. */
export function applyToSpace(space: Space, event: Envelope, ended: Set<string>): void {
  space.lastType = event.type;
  if (event.time > space.lastTime) space.lastTime = event.time;
  const turn = event.turn ?? "";
  if (event.type === "turn.queued") {
    if (space.running?.turn !== turn) space.queue.set(turn, text(event.data.prompt_preview));
  } else if (event.type === "turn.started") {
    space.running = {
      turn,
      preview: space.queue.get(turn) ?? space.running?.preview ?? "",
      since: event.time,
    };
    space.queue.delete(turn);
  } else if (event.type === "turn.completed") {
    ended.add(turn);
    space.queue.delete(turn);
    if (space.running?.turn === turn) space.running = null;
    space.open.clear();
    takeEnd(space, event);
    space.cost += number(event.data.cost_usd);
  } else if (/^(permission|question)\.requested$/.test(event.type)) {
    // Where no person is asked, nobody has to be told.
    if (event.data.expires_at) space.open.add(text(event.data.permission));
  } else if (/^(permission|question)\.resolved$/.test(event.type)) {
    space.open.delete(text(event.data.permission));
  }
}

function takeEnd(space: Space, event: Envelope): void {
  space.outcome = text(event.data.outcome);
  space.said = firstLine(text(fields(event.data.error).message) || text(event.data.text));
}

/** The workspaces of the server and their last day, kept up to date while somebody looks. */
class Fleet {
  readonly spaces = new Map<string, Space>();
  ended: EndedTurn[] = [];
  /** Counts changes; views read it. */
  readonly version = signal(0);
  readonly loaded = signal(false);
  readonly failure = signal("");

  private readonly endedTurns = new Set<string>();
  private users = 0;
  private session: AbortController | null = null;
  private painting = false;

  /** Begins with the first user; returns what ends this one's use. */
  use(): () => void {
    if (++this.users === 1) this.begin();
    return () => {
      if (--this.users === 0) this.session?.abort();
    };
  }

  private begin(): void {
    this.spaces.clear();
    this.ended = [];
    this.endedTurns.clear();
    this.loaded.value = false;
    this.session = new AbortController();
    void this.run(this.session.signal);
  }

  private async run(stopped: AbortSignal): Promise<void> {
    while (!stopped.aborted) {
      try {
        const newest = await call<AuditPage>(
          `/api/v1/events${query({ types: heard, order: "newest", limit: recent })}`,
          { signal: stopped },
        );
        await this.refreshList(stopped);
        for (const event of newest.events) this.takeLast(event);
        await this.refreshDecisions(stopped);
        this.version.value += 1;
        this.loaded.value = true;
        this.failure.value = "";
        this.listen(newest.head, stopped);
        await this.loadDay(newest.head, stopped);
        break;
      } catch (failure) {
        if (stopped.aborted) return;
        this.failure.value = failure instanceof Error ? failure.message : String(failure);
        await new Promise((resolve) => setTimeout(resolve, 2000));
      }
    }
    const timer = setInterval(
      () => void this.refreshList(stopped).catch(() => undefined),
      listInterval,
    );
    stopped.addEventListener("abort", () => clearInterval(timer));
  }

  private space(id: string): Space {
    let known = this.spaces.get(id);
    if (!known) this.spaces.set(id, (known = emptySpace(id)));
    return known;
  }

  private async refreshList(stopped: AbortSignal): Promise<void> {
    const { workspaces } = await call<{ workspaces: WorkspaceInfo[] }>("/api/v1/workspaces", {
      signal: stopped,
    });
    const busy: string[] = [];
    for (const info of workspaces) {
      const space = this.space(info.id);
      if (info.updated_at > space.lastTime) space.lastTime = info.updated_at;
      if (info.status === "busy" && !space.running) busy.push(info.id);
    }
    this.paint();
    await inTurns(busy, 4, async (id) => {
      const queue = await call<Queue>(workspacePath(id, "/queue"), { signal: stopped });
      this.takeQueue(this.space(id), queue);
      this.paint();
    });
  }

  private takeLast(event: Envelope): void {
    const space = this.spaces.get(event.workspace);
    if (!space || space.lastType) return; // a newer one was there before
    space.lastType = event.type;
    if (event.time > space.lastTime) space.lastTime = event.time;
  }

  /** What waits for a person by now; what comes after is heard of. */
  private async refreshDecisions(stopped: AbortSignal): Promise<void> {
    const { pending } = await call<{ pending: { workspace: string; permission: string }[] }>(
      "/api/v1/permissions",
      { signal: stopped },
    );
    for (const { workspace, permission } of pending) this.space(workspace).open.add(permission);
  }

  private takeQueue(space: Space, queue: Queue): void {
    const task = queue.current_task;
    if (task && !this.endedTurns.has(task.task_id)) {
      space.running = {
        turn: task.task_id,
        preview: task.prompt_preview,
        since: task.started_at ?? task.enqueued_at,
      };
      space.queue.delete(task.task_id);
    }
    for (const waiting of queue.queued_tasks) {
      if (!this.endedTurns.has(waiting.task_id) && space.running?.turn !== waiting.task_id)
        space.queue.set(waiting.task_id, waiting.prompt_preview);
    }
  }

  private listen(head: number, stopped: AbortSignal): void {
    const stop = follow({
      path: `/api/v1/events${query({ types: heard })}`,
      after: String(head),
      onState: () => undefined,
      onFrame: (frame) => {
        if (!isEvent(frame)) return;
        const event = JSON.parse(frame.data) as Envelope;
        applyToSpace(this.space(event.workspace), event, this.endedTurns);
        if (event.type === "turn.completed") this.ended.push(endedTurn(event));
        this.paint();
      },
    });
    stopped.addEventListener("abort", stop);
  }

  /** What ended in the last day and up to `head`, newest first; what comes after is heard of. */
  private async loadDay(head: number, stopped: AbortSignal): Promise<void> {
    const from = new Date(Date.now() - day).toISOString();
    let after = String(head + 1);
    while (this.ended.length < mostTurns) {
      const path = `/api/v1/events${query({ types: "turn.completed", from, order: "newest", limit: 2000, after })}`;
      const page = await call<AuditPage>(path, { signal: stopped });
      for (const event of page.events) {
        const space = this.space(event.workspace);
        if (!space.outcome) takeEnd(space, event);
        if (!space.lastType) space.lastType = event.type;
        space.cost += number(event.data.cost_usd);
        this.ended.push(endedTurn(event));
      }
      this.paint();
      if (page.complete) return;
      after = page.next;
    }
  }

  /** Bursts are drawn a few times a second, not event by event. */
  private paint(): void {
    if (this.painting) return;
    this.painting = true;
    setTimeout(() => {
      this.painting = false;
      this.version.value += 1;
    }, paintInterval);
  }
}

function endedTurn(event: Envelope): EndedTurn {
  return {
    time: Date.parse(event.time),
    outcome: text(event.data.outcome),
    duration: number(event.data.duration_ms),
    cost: number(event.data.cost_usd),
    workspace: event.workspace,
    position: event.position,
  };
}

async function inTurns<T>(
  all: T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const rest = [...all];
  const worker = async () => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift())
      await work(next).catch(() => undefined);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

export const fleet = new Fleet();
