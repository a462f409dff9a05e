import { protocolError, TidemarkError } from "./errors.js";
import type { AuditProgress, Cursor, EventEnvelope, GapFrame, HelloFrame } from "./types.js";

/**
 * How far a reader has come. It decides what is news, so that nothing is given twice and nothing is left out, whatever
 * lies between the server and here.
 */
export interface Place {
  /** What to ask the server for; undefined: from the first event. */
  readonly cursor: string | undefined;
  /** Whether the stream said that it goes on elsewhere, and not yet why: a gap has to follow. */
  readonly expectsGap: boolean;
  /** A connection begins. */
  connect(): void;
  begin(hello: HelloFrame): void;
  /** Goes on behind the gap. */
  leap(gap: GapFrame): void;
  passBy(progress: AuditProgress): void;
  /**
   * Takes the next event, which came with the frame's `id`. False: the reader has it already.
   * @throws TidemarkError `protocol` if something is missing before it; the place stays as it was
   */
  take(event: EventEnvelope, id: string): boolean;
}

/** In one workspace. */
export class StreamPlace implements Place {
  #epoch: number | undefined;
  #offset: number | undefined;
  #elsewhere: HelloFrame | undefined; // where the stream begins if not here
  readonly #dense: boolean;

  /** @param dense whether the reader asked for every event, so that one must follow the other */
  constructor(after: Cursor | undefined, dense: boolean) {
    this.#dense = dense;
    [this.#epoch, this.#offset] = parseCursor(after, "<epoch>-<offset> or <offset>");
  }

  get cursor(): string | undefined {
    return cursorText(this.#epoch, this.#offset);
  }

  get expectsGap(): boolean {
    return this.#elsewhere !== undefined;
  }

  connect(): void {
    this.#elsewhere = undefined;
  }

  begin(hello: HelloFrame): void {
    const fits = (this.#epoch ?? hello.epoch) === hello.epoch && this.#offset === hello.resumed_after;
    if (this.#offset === undefined || fits) this.#moveTo(hello);
    else this.#elsewhere = hello;
  }

  leap(): void {
    if (this.#elsewhere) this.#moveTo(this.#elsewhere);
    this.#elsewhere = undefined;
  }

  passBy(): void {
    // Only a reader of the whole log hears of those.
  }

  #moveTo(hello: HelloFrame): void {
    this.#epoch = hello.epoch;
    this.#offset = hello.resumed_after;
  }

  take(event: EventEnvelope): boolean {
    const last = this.#offset ?? 0;
    if (this.#epoch !== undefined && event.epoch !== this.#epoch) throw misplaced(event, this.cursor);
    if (event.offset <= last) return false;
    if (this.#dense && event.offset !== last + 1) throw misplaced(event, this.cursor);
    this.#offset = event.offset;
    return true;
  }
}

/** In the whole log: its epoch and a position. Retention may have removed what lies between two events. */
export class LogPlace implements Place {
  #epoch: number | undefined;
  #position: number | undefined;
  readonly expectsGap = false;

  constructor(after: Cursor | undefined) {
    [this.#epoch, this.#position] = parseCursor(after, "<log epoch>-<position> or <position>");
  }

  get cursor(): string | undefined {
    return cursorText(this.#epoch, this.#position);
  }

  connect(): void {
    // Nothing is known of the stream until it says so.
  }

  begin(): void {
    // It tells the head of the log, which is no place of the reader's.
  }

  leap(gap: GapFrame): void {
    const ahead = gap.reason === "ahead";
    this.#epoch = ahead ? gap.epoch : undefined;
    this.#position = ahead ? gap.head : undefined;
  }

  /** What was looked at and did not fit need not be looked at again. */
  passBy(progress: AuditProgress): void {
    this.#position = Math.max(this.#position ?? 0, progress.position);
  }

  take(event: EventEnvelope, id: string): boolean {
    const [epoch, position] = parseCursor(id, "the id of a frame");
    if (epoch === undefined || position !== event.position || (this.#epoch ?? epoch) !== epoch)
      throw protocolError(`the event with the id "${id}" came after ${this.cursor ?? "the beginning"}`);
    if (position <= (this.#position ?? 0)) return false;
    this.#epoch = epoch;
    this.#position = position;
    return true;
  }
}

function parseCursor(after: Cursor | undefined, form: string): [number | undefined, number | undefined] {
  if (after === undefined) return [undefined, undefined];
  const found = /^(?:(\d+)-)?(\d+)$/.exec(String(after));
  if (!found)
    throw new TidemarkError({
      code: "invalid_argument",
      status: 0,
      detail: `a cursor is ${form}, not "${after}"`,
      retryable: false,
    });
  return [found[1] === undefined ? undefined : Number(found[1]), Number(found[2])];
}

function cursorText(epoch: number | undefined, number: number | undefined): string | undefined {
  if (number === undefined) return undefined;
  return epoch === undefined ? String(number) : `${epoch}-${number}`;
}

function misplaced(event: EventEnvelope, after: string | undefined): TidemarkError {
  return protocolError(`${event.epoch}-${event.offset} came after ${after ?? "the beginning"}`);
}
