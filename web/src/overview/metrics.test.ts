import { describe, expect, it } from "vitest";
import { histogram, parseMetrics, quantile, total } from "./metrics";

const exposition = `# HELP turns_total Turns
# TYPE turns_total counter
turns_total{outcome="succeeded"} 8
turns_total{outcome="failed"} 2
odd{model="a\\"b\\\\c",kind="x"} 1.5e+3
wait_bucket{le="0.1"} 5
wait_bucket{le="1"} 9
wait_bucket{le="+Inf"} 10
wait_count 10
`;

describe("metrics", () => {
  const samples = parseMetrics(exposition);

  it("are read with their labels", () => {
    expect(total(samples, "turns_total")).toBe(10);
    expect(total(samples, "turns_total", { outcome: "failed" })).toBe(2);
    expect(samples.find((each) => each.name === "odd")).toEqual({
      name: "odd",
      labels: { model: 'a"b\\c', kind: "x" },
      value: 1500,
    });
  });

  it("give quantiles as far as buckets tell", () => {
    const wait = histogram(samples, "wait");
    expect(wait.counts).toEqual([5, 4, 1]);
    expect(quantile(wait, 0.5)).toBeCloseTo(0.1);
    expect(quantile(wait, 0.7)).toBeCloseTo(0.55);
    expect(quantile(wait, 0.99)).toBe(1);
    expect(quantile(histogram(samples, "none"), 0.5)).toBe(0);
  });
});
