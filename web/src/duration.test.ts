import { expect, it } from "vitest";
import { duration } from "./duration";

it("says a length of time in units that are full when they are carried over", () => {
  const said = (ms: number) => [ms, duration(ms)];
  for (const [ms, text] of [
    [0, "0 ms"],
    [0.25, "0.3 ms"],
    [999.4, "999 ms"],
    [999.6, "1.0 s"],
    [9_949, "9.9 s"],
    [9_999, "10 s"],
    [59_400, "59 s"],
    [59_700, "1 min 0 s"],
    [599_900, "10 min 0 s"],
    [3_599_900, "1 h 0 min"],
    [47 * 3_600_000, "47 h 0 min"],
    [49 * 3_600_000, "2 d 1 h"],
  ] as const)
    expect(said(ms)).toEqual([ms, text]);
});
