import { describe, expect, it } from "vitest";
import type { Envelope } from "../types";
import { advance, startAt } from "./replay";

const begin = Date.parse("2026-01-01T00:00:00Z");
const events: Envelope[] = [0, 10, 20, 60_000, 60_010].map((ms, index) => ({
  workspace: "w",
  epoch: 1,
  offset: index + 1,
  position: index + 1,
  time: new Date(begin + ms).toISOString(),
  type: "item.delta",
  data: {},
}));

describe("a replay", () => {
  it("takes as long as it took", () => {
    const at = advance(events, startAt(events, 1), 15, 1, false);
    expect(at.index).toBe(1);
    expect(advance(events, at, 5, 1, false).index).toBe(2);
    expect(advance(events, at, 50_000, 1, false).index).toBe(2);
    expect(advance(events, at, 59_985, 1, false).index).toBe(3);
  });

  it("runs at a multiple of that", () => {
    expect(advance(events, startAt(events, 1), 2, 10, false).index).toBe(2);
  });

  it("cuts long pauses short if asked to", () => {
    let at = advance(events, startAt(events, 1), 20, 1, true);
    expect(at.index).toBe(2);
    at = advance(events, at, 1500, 1, true);
    expect(at.index).toBe(3);
  });

  it("ends at the last event", () => {
    expect(advance(events, startAt(events, 99), 1000, 1, false).index).toBe(4);
  });
});
