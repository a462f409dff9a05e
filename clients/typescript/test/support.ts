import assert from "node:assert/strict";
import type { Event, EventEnvelope } from "../src/index.js";
import type { TestServer } from "./server.js";

/** That these are the offsets 1, 2, 3 … to the last. */
export function assertDense(events: readonly EventEnvelope[], from = 1): void {
  assert.deepEqual(
    events.map((event) => event.offset),
    events.map((_, index) => from + index),
  );
}

/** Reads until `last` says that it is enough. */
export async function readUntil(
  events: AsyncIterable<Event>,
  server: TestServer,
  last: (event: Event) => boolean,
  into: Event[] = [],
): Promise<Event[]> {
  for await (const event of events) {
    server.schemas.check("Event", event);
    into.push(event);
    if (last(event)) break;
  }
  return into;
}

export function completes(turn: string): (event: Event) => boolean {
  return (event) => event.type === "turn.completed" && event.turn === turn;
}
