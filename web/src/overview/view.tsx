import { signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import type uPlot from "uplot";
import { callText } from "../api";
import { bytes, clock, compact, count, duration, money, percent } from "../format";
import { t, type Word } from "../i18n";
import { fleet, type EndedTurn } from "../workspaces/fleet";
import { Chart } from "./chart";
import { histogram, parseMetrics, quantile, total, type Histogram, type Sample } from "./metrics";

const pollInterval = 3000;
const keptSamples = 400;
const outcomes = ["succeeded", "failed", "cancelled", "interrupted"] as const;

interface Tick {
  time: number; // s
  events: number; // appended, in all
  readers: number;
}

const samples = signal<Sample[]>([]);
const ticks = signal<Tick[]>([]);
const failure = signal("");

function poll(): () => void {
  const stopped = new AbortController();
  const once = async () => {
    if (document.visibilityState === "hidden") return;
    try {
      const now = parseMetrics(await callText("/metrics", { signal: stopped.signal }));
      samples.value = now;
      failure.value = "";
      const tick = {
        time: Date.now() / 1000,
        events: total(now, "tidemark_log_events_appended_total"),
        readers: total(now, "tidemark_readers"),
      };
      ticks.value = [...ticks.value, tick].slice(-keptSamples);
    } catch (reason) {
      if (!stopped.signal.aborted)
        failure.value = reason instanceof Error ? reason.message : String(reason);
    }
  };
  void once();
  const timer = setInterval(() => void once(), pollInterval);
  return () => {
    clearInterval(timer);
    stopped.abort();
  };
}

export function OverviewView(): JSX.Element {
  useEffect(() => fleet.use(), []);
  useEffect(poll, []);
  const all = samples.value;
  return (
    <section class="page overview" aria-label={t("app.overview")}>
      <h1 class="sr">{t("app.overview")}</h1>
      {failure.value ? <p class="line error">{failure.value}</p> : null}
      <Figures all={all} />
      <div class="cards">
        <TurnsAnHour />
        <LiveCard />
        <HistogramCard title="over.wait" all={all} name="tidemark_turn_queue_wait_seconds" />
        <HistogramCard title="over.duration" all={all} name="tidemark_turn_seconds" />
        <HistogramCard title="over.append" all={all} name="tidemark_log_commit_seconds" />
        <Models all={all} />
      </div>
    </section>
  );
}

function Figures({ all }: { all: Sample[] }): JSX.Element {
  const accepting = total(all, "tidemark_log_accepting") > 0;
  const figures: [Word, string, string?][] = [
    ["over.running", count(total(all, "tidemark_turns_running"))],
    ["over.waiting", count(total(all, "tidemark_turns_waiting"))],
    ["over.stored", count(total(all, "tidemark_streams_stored"))],
    ["over.agents", count(total(all, "tidemark_agents_live"))],
    ["over.readers", count(total(all, "tidemark_readers"))],
    ["over.pending", count(total(all, "tidemark_pending_results"))],
    [
      "over.log",
      bytes(total(all, "tidemark_log_size_bytes")),
      all.length === 0
        ? ""
        : `${t(accepting ? "over.accepting" : "over.refusing")} · ${t("over.free", { free: bytes(total(all, "tidemark_log_free_bytes")) })}`,
    ],
  ];
  return (
    <dl class="figures">
      {figures.map(([word, value, more]) => (
        <div key={word} class={word === "over.log" && all.length > 0 && !accepting ? "bad" : ""}>
          <dt>{t(word)}</dt>
          <dd>
            {all.length === 0 ? "…" : value}
            {more ? <small>{more}</small> : null}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Card({
  title,
  note,
  children,
}: {
  title: Word;
  note: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="card" aria-label={t(title)}>
      <h2>{t(title)}</h2>
      <p class="quiet">{note}</p>
      {children}
    </section>
  );
}

/** Turns by hour, each outcome on top of those before it. */
export function byHour(
  ended: readonly EndedTurn[],
  now: number,
): { hours: number[]; stacks: number[][] } {
  const hour = 3600 * 1000;
  const last = Math.floor(now / hour);
  const hours = Array.from({ length: 24 }, (_, index) => last - 23 + index);
  const counts = outcomes.map(() => hours.map(() => 0));
  for (const turn of ended) {
    const at = Math.floor(turn.time / hour) - hours[0]!;
    const row = counts[outcomes.indexOf(turn.outcome as (typeof outcomes)[number])];
    if (row && at >= 0 && at < 24) row[at]! += 1;
  }
  const stacks = counts.map((_, index) =>
    hours.map((__, at) => counts.slice(0, index + 1).reduce((sum, row) => sum + row[at]!, 0)),
  );
  return { hours: hours.map((each) => (each * hour) / 1000), stacks };
}

function TurnsAnHour(): JSX.Element {
  const version = fleet.version.value;
  const { data, names } = useMemo(() => {
    const { hours, stacks } = byHour(fleet.ended, Date.now());
    // The highest stack is drawn first, the others over it.
    const places = hours.map((_, index) => index);
    return {
      data: [places, ...[...stacks].reverse()] as uPlot.AlignedData,
      names: hours.map((each, index) => (index % 4 === 3 ? clock(each * 1000).slice(0, 5) : "")),
    };
  }, [version]);
  const good = fleet.ended.filter((turn) => turn.outcome === "succeeded").length;
  const n = fleet.ended.length;
  const said = n > 0 ? t("over.success", { rate: percent(good / n), n: count(n) }) : t("over.none");
  const series = [...outcomes]
    .reverse()
    .map((outcome) => ({ label: t(`state.${outcome}`), colour: `--${outcome}` }));
  return (
    <Card title="over.turns" note={`${t("over.turns.about")} · ${said}`}>
      <Chart
        data={data}
        names={names}
        series={series}
        height={190}
        label={`${t("over.turns")}: ${said}`}
        range={[-0.6, 23.6]}
      />
    </Card>
  );
}

function LiveCard(): JSX.Element {
  const all = ticks.value;
  const data = useMemo(() => {
    const times = all.map((tick) => tick.time);
    const rates = all.map((tick, index) => {
      const before = all[index - 1];
      return before ? Math.max(0, (tick.events - before.events) / (tick.time - before.time)) : null;
    });
    return [times, rates, all.map((tick) => tick.readers)] as uPlot.AlignedData;
  }, [all]);
  const rate = Number((data[1] as (number | null)[]).at(-1) ?? 0);
  const readers = all.at(-1)?.readers ?? 0;
  const series = [
    { label: t("over.rate"), colour: "--accent", kind: "line" as const },
    { label: t("over.readers"), colour: "--quiet", kind: "line" as const },
  ];
  const note = `${t("over.live.about")} · ${rate.toFixed(rate < 10 ? 1 : 0)}`;
  return (
    <Card title="over.live" note={note}>
      {all.length > 1 ? (
        <Chart
          time
          data={data}
          series={series}
          height={190}
          label={`${t("over.rate")}: ${rate.toFixed(1)}; ${t("over.readers")}: ${readers}`}
        />
      ) : null}
    </Card>
  );
}

/** Only the buckets from the first to the last that hold something, and one beside each. */
function filled(of: Histogram): { names: string[]; counts: number[] } {
  const first = Math.max(0, of.counts.findIndex((each) => each > 0) - 1);
  let last = of.counts.length - 1;
  while (last > first + 3 && (of.counts[last] ?? 0) === 0) --last;
  const names = of.bounds.map((bound, index) =>
    bound === Infinity ? `> ${short(of.bounds[index - 1] ?? 0)}` : `≤ ${short(bound)}`,
  );
  return { names: names.slice(first, last + 1), counts: of.counts.slice(first, last + 1) };
}

function short(seconds: number): string {
  if (seconds < 1) return `${Number((seconds * 1000).toPrecision(3))}ms`;
  if (seconds < 60) return `${seconds}s`;
  return seconds < 3600 ? `${seconds / 60}m` : `${seconds / 3600}h`;
}

function HistogramCard({
  title,
  all,
  name,
}: {
  title: Word;
  all: Sample[];
  name: string;
}): JSX.Element {
  const of = useMemo(() => histogram(all, name), [all, name]);
  const { names, counts } = filled(of);
  const said =
    of.total > 0
      ? t("over.p50", {
          p50: duration(quantile(of, 0.5) * 1000),
          p95: duration(quantile(of, 0.95) * 1000),
          n: count(of.total),
        })
      : t("over.none");
  const data = useMemo(() => [counts.map((_, index) => index), counts] as uPlot.AlignedData, [of]);
  return (
    <Card title={title} note={`${t("over.since")} · ${said}`}>
      {of.total > 0 ? (
        <Chart
          data={data}
          names={names}
          series={[{ label: t(title), colour: "--accent" }]}
          height={150}
          label={`${t(title)}: ${said}`}
          range={[-0.6, counts.length - 0.4]}
        />
      ) : null}
    </Card>
  );
}

const kinds = ["input", "output", "cache_read", "cache_write"] as const;

function Models({ all }: { all: Sample[] }): JSX.Element {
  const models = [
    ...new Set(
      all
        .filter((each) => each.name === "tidemark_tokens_total")
        .map((each) => each.labels.model ?? ""),
    ),
  ];
  const cost = (model: string) => total(all, "tidemark_cost_usd_total", { model });
  models.sort((a, b) => cost(b) - cost(a));
  return (
    <Card
      title="over.tokens"
      note={models.length > 0 ? t("over.since") : `${t("over.since")} · ${t("over.none")}`}
    >
      {models.length > 0 ? (
        <div class="scroll" tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th>{t("over.model")}</th>
                {kinds.map((kind) => (
                  <th key={kind} class="num">
                    {t(`over.${kind}`)}
                  </th>
                ))}
                <th class="num">{t("over.cost")}</th>
              </tr>
            </thead>
            <tbody>
              {models.map((model) => (
                <tr key={model}>
                  <th scope="row">{model}</th>
                  {kinds.map((kind) => (
                    <td key={kind} class="num">
                      {compact(total(all, "tidemark_tokens_total", { model, kind }))}
                    </td>
                  ))}
                  <td class="num">{money(cost(model))}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </Card>
  );
}
