import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { clock } from "../format";
import { isDark } from "../preferences";

export interface ChartSeries {
  label: string;
  colour: string; // a custom property of the page
  kind?: "bars" | "line";
  scale?: string;
}

interface ChartProps {
  data: uPlot.AlignedData;
  series: ChartSeries[];
  height: number;
  /** What the picture says, for those who do not see it. */
  label: string;
  time?: boolean;
  names?: string[]; // of the places on the x axis, if they are no times
  range?: [number, number];
}

const nameWidth = 64; // of the longest name, px

/** The names that have room beside each other; the others are blank. */
function thinned(names: readonly string[], width: number): string[] {
  const all = names.filter(Boolean).length;
  const step = Math.max(1, Math.ceil((all * nameWidth) / width));
  let seen = 0;
  return names.map((name) => (name && seen++ % step === 0 ? name : ""));
}

/** Of a time axis, s: a minute is filled from its left. */
const shortest = 60;

function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function optionsOf(props: ChartProps, width: number): uPlot.Options {
  const quiet = colour("--quiet");
  const grid = { stroke: colour("--line"), width: 1 };
  const font = "11px system-ui, sans-serif";
  const bars = uPlot.paths.bars?.({ size: [0.82, 48], align: 0 });
  const wholeOnly = (values: number[]) =>
    values.map((value) => (Number.isInteger(value) ? String(value) : ""));
  return {
    width,
    height: props.height,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: {
        time: props.time ?? false,
        range: (_, low, high) => props.range ?? [low, Math.max(high, low + shortest)],
      },
      y: { range: (_, __, high) => [0, Math.max(1, high * 1.08)] },
    },
    axes: [
      {
        stroke: quiet,
        font,
        grid: { show: false },
        ticks: { show: false },
        gap: 4,
        size: 24,
        space: 80,
        values: (plot, places) =>
          props.names
            ? thinned(props.names, plot.width)
            : places.map((place) => clock(place * 1000)),
        splits: props.names ? () => props.names!.map((_, index) => index) : undefined,
      },
      {
        stroke: quiet,
        font,
        grid,
        ticks: { show: false },
        size: 40,
        gap: 4,
        values: (_, values) => wholeOnly(values),
      },
    ],
    series: [
      {},
      ...props.series.map((each) => ({
        label: each.label,
        stroke: colour(each.colour),
        fill: each.kind === "line" ? undefined : colour(each.colour),
        width: each.kind === "line" ? 1.5 : 0,
        paths: each.kind === "line" ? undefined : bars,
        // Of a line that has just begun, which is too short to be seen, the points are.
        points: each.kind === "line" ? {} : { show: false },
      })),
    ],
  };
}

export function Chart(props: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const dark = isDark.value;
  const shape = JSON.stringify([props.series, props.names, props.time]);
  const plot = useRef<uPlot | null>(null);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const made = new uPlot(
      optionsOf(props, Math.max(100, element.clientWidth)),
      props.data,
      element,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() =>
      made.setSize({ width: Math.max(100, element.clientWidth), height: props.height }),
    );
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, dark]);
  useEffect(() => plot.current?.setData(props.data), [props.data]);

  return (
    <figure class="chart">
      <div
        ref={place}
        role="img"
        aria-label={props.label}
        style={{ height: `${props.height}px` }}
      />
      {props.series.length > 1 ? (
        <figcaption>
          {props.series.map((each) => (
            <span key={each.label} class="key">
              <i style={{ background: `var(${each.colour})` }} />
              {each.label}
            </span>
          ))}
        </figcaption>
      ) : null}
    </figure>
  );
}
