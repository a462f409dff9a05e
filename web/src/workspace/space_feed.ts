import { signal } from "@preact/signals";
import { call, CallError, query, workspacePath } from "../api";
import {
  apply,
  conversationAt,
  emptyConversation,
  type Conversation,
} from "../conversation/reduce";
import { follow, isEvent, type FeedFrame } from "../feed";
import type { Envelope, StreamPage } from "../types";

/** So many events of a long history are read at once; the rest when it is looked at. */
const window = 5000;
/** So many events before the one that is looked at are read with it, for what led to it. */
const context = 500;
const paintInterval = 40;
const retryInterval = 3000;

/**
 * One workspace's stream as somebody looks at it: the events that were read, the conversation they
 * make, and the place that is shown, which is the newest unless one looks back.
 */
export class SpaceFeed {
  events: Envelope[] = [];
  live: Conversation = emptyConversation();
  /** What is shown: `live`, or the past. */
  shown: Conversation = this.live;
  first = 0; // offset of the first event there is; above 1 once retention has removed some
  /** The offset that is looked at; null: the newest. */
  readonly at = signal<number | null>(null);
  readonly version = signal(0);
  readonly status = signal<"loading" | "ready" | "absent" | "failed">("loading");
  readonly detail = signal("");
  readonly gap = signal("");
  /** While events before those that are there are read. */
  readonly reading = signal(false);

  private readonly stopped = new AbortController();
  private arrived: Envelope[] = [];
  private painting: ReturnType<typeof setTimeout> | undefined;
  private retrying: ReturnType<typeof setTimeout> | undefined;
  private stopFollowing: () => void = () => undefined;

  constructor(
    readonly id: string,
    at: number | null,
  ) {
    this.at.value = at;
    void this.begin();
  }

  close(): void {
    this.stopped.abort();
    this.stopFollowing();
    clearTimeout(this.painting);
    clearTimeout(this.retrying);
  }

  get head(): number {
    return this.live.offset;
  }

  /** Offset before the first event that was read: so many earlier ones could be. */
  get earlier(): number {
    const oldest = this.events[0];
    return oldest ? Math.max(0, oldest.offset - this.first) : 0;
  }

  look(at: number | null): void {
    this.at.value = at !== null && at >= this.head ? null : at;
    this.draw();
    void this.readBack();
  }

  /** Tries again now, as after a first task to a workspace that was not there. */
  wake(): void {
    if (this.status.value !== "absent" && this.status.value !== "failed") return;
    clearTimeout(this.retrying);
    this.status.value = "loading";
    void this.begin();
  }

  /** Reads a window more of what came before; false if there is none, or it could not be read. */
  async readEarlier(): Promise<boolean> {
    const oldest = this.events[0];
    if (!oldest || oldest.offset <= this.first || this.reading.value) return false;
    this.reading.value = true;
    try {
      const page = await this.pageBefore(oldest.offset);
      const earlier = page.events.filter((event) => event.offset < oldest.offset);
      if (page.epoch !== oldest.epoch || this.events[0] !== oldest) return false;
      this.events = [...earlier, ...this.events];
      this.live = conversationAt(this.events, this.head);
      this.detail.value = "";
      return earlier.length > 0;
    } catch (failure) {
      if (!this.stopped.signal.aborted)
        this.detail.value = failure instanceof Error ? failure.message : String(failure);
      return false;
    } finally {
      this.reading.value = false;
      this.draw();
    }
  }

  /** Until what is looked at is there, with some of what led to it. */
  private async readBack(): Promise<void> {
    const missing = () => {
      const at = this.at.value;
      const oldest = this.events[0];
      return (
        at !== null && oldest !== undefined && oldest.offset > Math.max(this.first, at - context)
      );
    };
    while (missing() && (await this.readEarlier()));
  }

  /** The page that ends before `offset`; what is left of it, if retention removes some just now. */
  private async pageBefore(offset: number): Promise<StreamPage> {
    for (;;) {
      const after = Math.max(this.first - 1, offset - 1 - window);
      try {
        return await this.page({ after, limit: offset - 1 - after });
      } catch (failure) {
        if (!(failure instanceof CallError && failure.status === 410)) throw failure;
        const { first } = await this.page({ limit: 1 });
        if (first >= offset || first <= this.first) throw failure;
        this.first = first;
      }
    }
  }

  private async page(values: Record<string, string | number>): Promise<StreamPage> {
    return call<StreamPage>(workspacePath(this.id, `/events${query(values)}`), {
      signal: this.stopped.signal,
    });
  }

  private async begin(): Promise<void> {
    try {
      const { head, first, epoch } = await this.page({ limit: 1 });
      this.first = first;
      const wanted = this.at.value === null ? head : Math.min(head, this.at.value);
      const after = Math.max(0, first - 1, wanted - window);
      this.status.value = "ready";
      this.detail.value = "";
      this.stopFollowing = follow({
        path: workspacePath(this.id, "/events"),
        after: `${epoch}-${after}`,
        onFrame: (frame) => this.take(frame),
        onState: () => undefined,
      });
    } catch (failure) {
      if (this.stopped.signal.aborted) return;
      const absent = failure instanceof CallError && failure.status === 404;
      this.status.value = absent ? "absent" : "failed";
      this.detail.value = failure instanceof Error ? failure.message : String(failure);
      if (failure instanceof CallError && failure.status < 500 && !absent) return;
      this.retrying = setTimeout(() => this.wake(), retryInterval);
    }
  }

  private take(frame: FeedFrame): void {
    if (frame.event === "gap") {
      const { reason, first } = JSON.parse(frame.data) as { reason: string; first: number };
      this.gap.value = reason;
      this.first = first;
      return;
    }
    if (!isEvent(frame)) return;
    this.arrived.push(JSON.parse(frame.data) as Envelope);
    this.painting ??= setTimeout(() => {
      this.painting = undefined;
      this.takeArrived();
    }, paintInterval);
  }

  private takeArrived(): void {
    for (const event of this.arrived) {
      const begun = event.epoch !== this.live.epoch;
      if (!apply(this.live, event)) continue; // seen before
      if (begun && this.events.length > 0) {
        this.events = [];
        this.first = event.offset;
      }
      this.events.push(event);
    }
    this.arrived = [];
    this.draw();
  }

  private draw(): void {
    const at = this.at.value;
    this.shown = at === null ? this.live : this.past(at);
    this.version.value += 1;
  }

  /** Going on from the place that is shown costs little, so that replay can; going back starts anew. */
  private past(at: number): Conversation {
    const shown = this.shown;
    if (shown === this.live || shown.offset > at || shown.epoch !== this.live.epoch)
      return conversationAt(this.events, at);
    const from = this.events[0]?.offset ?? 1;
    for (let index = Math.max(0, shown.offset - from + 1); index < this.events.length; ++index) {
      const event = this.events[index];
      if (!event || event.offset > at) break;
      apply(shown, event);
    }
    return shown;
  }
}
