import type { Envelope } from "../types";

/** The longest pause that is kept when pauses are skipped. */
const keptPause = 1500;

/**
 * Where a replay stands: which event was shown last and how far its clock has come. Pure, so that
 * it is tested without one.
 */
export interface ReplayPlace {
  index: number; // of the last event shown
  clock: number; // in the time of the events, ms
}

export function startAt(events: readonly Envelope[], offset: number): ReplayPlace {
  let index = events.findIndex((event) => event.offset > offset) - 1;
  if (index < -1) index = events.length - 1;
  const from = events[Math.max(0, index)];
  return { index: Math.max(0, index), clock: from ? Date.parse(from.time) : 0 };
}

/** The place after `elapsed` ms at `speed`; at the end, the last event. */
export function advance(
  events: readonly Envelope[],
  from: ReplayPlace,
  elapsed: number,
  speed: number,
  skipPauses: boolean,
): ReplayPlace {
  let { index, clock } = from;
  clock += elapsed * speed;
  for (let next = events[index + 1]; next; next = events[index + 1]) {
    const due = Date.parse(next.time);
    if (skipPauses && due - clock > keptPause) clock = due - keptPause;
    if (due > clock) break;
    index += 1;
  }
  return { index, clock };
}
