import { protocolError, TidemarkError } from "./errors.js";
import type { Cursor, EventEnvelope } from "./types.js";

/**
 * How far a reader of one workspace has come. It decides what is news, so that nothing is given twice and nothing is
 * left out, whatever lies between the server and here.
 */
export class Place {
  #epoch: number | undefined;
  #offset: number | undefined;
  readonly #dense: boolean;

  /** @param dense whether the reader asked for every event, so that one must follow the other */
  constructor(after: Cursor | undefined, dense: boolean) {
    this.#dense = dense;
    if (after === undefined) return;
    const found = /^(?:(\d+)-)?(\d+)$/.exec(String(after));
    if (!found)
      throw new TidemarkError({
        code: "invalid_argument",
        status: 0,
        detail: `a cursor is <epoch>-<offset> or <offset>, not "${after}"`,
        retryable: false,
      });
    this.#epoch = found[1] === undefined ? undefined : Number(found[1]);
    this.#offset = Number(found[2]);
  }

  /** What to ask the server for; undefined: from the first event. */
  get cursor(): string | undefined {
    if (this.#offset === undefined) return undefined;
    return this.#epoch === undefined ? String(this.#offset) : `${this.#epoch}-${this.#offset}`;
  }

  /** Whether a stream that begins behind there goes on from here; else a gap has to be told. */
  fits(epoch: number, offset: number): boolean {
    return this.#offset === undefined || ((this.#epoch ?? epoch) === epoch && this.#offset === offset);
  }

  moveTo(epoch: number, offset: number): void {
    this.#epoch = epoch;
    this.#offset = offset;
  }

  /**
   * Takes the next event. False: the reader has it already.
   * @throws TidemarkError `protocol` if something is missing before it; the place stays as it was
   */
  take(event: EventEnvelope): boolean {
    const last = this.#offset ?? 0;
    if (this.#epoch !== undefined && event.epoch !== this.#epoch) throw misplaced(event, this.cursor);
    if (event.offset <= last) return false;
    if (this.#dense && event.offset !== last + 1) throw misplaced(event, this.cursor);
    this.#offset = event.offset;
    return true;
  }
}

function misplaced(event: EventEnvelope, after: string | undefined): TidemarkError {
  return protocolError(`${event.epoch}-${event.offset} came after ${after ?? "the beginning"}`);
}
