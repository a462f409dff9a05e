import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { age, count, money, now } from "../format";
import { t, type Word } from "../i18n";
import { isNarrow } from "../preferences";
import { go, workspaceHref } from "../router";
import { State } from "../state_mark";
import { VirtualList } from "../virtual_list";
import { fleet, stateOf, type Space, type SpaceState } from "./fleet";

type Column = "state" | "name" | "turn" | "queue" | "last" | "cost";

const filter = signal("");
const only = signal<SpaceState | "">("");
const order = signal<{ by: Column; down: boolean }>({ by: "last", down: true });
const urgency: Record<SpaceState, number> = {
  waiting: 4,
  failed: 3,
  running: 2,
  queued: 1,
  idle: 0,
};

const columns: [Column, Word][] = [
  ["state", "list.state"],
  ["name", "list.name"],
  ["turn", "list.turn"],
  ["queue", "list.queue"],
  ["last", "list.last"],
  ["cost", "list.cost"],
];

function about(space: Space): string {
  return space.running?.preview || [...space.queue.values()][0] || space.said;
}

function compare(a: Space, b: Space, by: Column): number {
  switch (by) {
    case "state":
      return urgency[stateOf(a)] - urgency[stateOf(b)];
    case "name":
      return b.id.localeCompare(a.id);
    case "turn":
      return about(b).localeCompare(about(a));
    case "queue":
      return a.queue.size - b.queue.size;
    case "last":
      return a.lastTime.localeCompare(b.lastTime);
    case "cost":
      return a.cost - b.cost;
  }
}

export function chosen(
  spaces: Iterable<Space>,
  words: string,
  state: string,
  by: Column,
  down: boolean,
): Space[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const out = [...spaces].filter((space) => {
    if (state && stateOf(space) !== state) return false;
    const where = `${space.id} ${about(space)}`.toLowerCase();
    return wanted.every((word) => where.includes(word));
  });
  out.sort((a, b) => (down ? compare(b, a, by) : compare(a, b, by)) || a.id.localeCompare(b.id));
  return out;
}

export function WorkspacesView(): JSX.Element {
  useEffect(() => fleet.use(), []);
  const [selected, select] = useState(0);
  const version = fleet.version.value;
  const { by, down } = order.value;
  const rows = useMemo(
    () => chosen(fleet.spaces.values(), filter.value, only.value, by, down),
    [version, filter.value, only.value, by, down],
  );
  const tally = useMemo(() => {
    const out: Record<SpaceState, number> = {
      waiting: 0,
      running: 0,
      queued: 0,
      failed: 0,
      idle: 0,
    };
    for (const space of fleet.spaces.values()) out[stateOf(space)] += 1;
    return out;
  }, [version]);
  const all = fleet.spaces.size;

  return (
    <section class="page list-page" aria-label={t("app.workspaces")}>
      <h1 class="sr">{t("app.workspaces")}</h1>
      <div class="bar">
        <input
          id="filter"
          type="search"
          value={filter.value}
          placeholder={t("list.filter")}
          aria-label={t("list.filter")}
          onInput={(event) => {
            filter.value = event.currentTarget.value;
            select(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "Enter" && rows[0]) go(workspaceHref(rows[0].id));
          }}
        />
        <div class="chips" role="group" aria-label={t("list.state")}>
          <StateChip state="" n={all} />
          {(["waiting", "failed", "running", "queued", "idle"] as const)
            .filter((state) => tally[state] > 0 || only.value === state)
            .map((state) => (
              <StateChip key={state} state={state} n={tally[state]} />
            ))}
        </div>
        <span class="quiet grow right" aria-live="polite">
          {t("list.count", { shown: count(rows.length), all: count(all) })}
        </span>
      </div>
      <div
        class="grid-head spaces"
        role="group"
        aria-label={t("list.count", { shown: rows.length, all })}
      >
        {columns.map(([column, word]) => (
          <button
            key={column}
            class={`col-${column} ${by === column ? "on" : ""}`}
            aria-pressed={by === column}
            onClick={() => (order.value = { by: column, down: by === column ? !down : true })}
          >
            {t(word)}
            {by === column ? <span aria-hidden="true">{down ? " ↓" : " ↑"}</span> : null}
          </button>
        ))}
      </div>
      {rows.length > 0 ? (
        <VirtualList
          className="spaces"
          rows={rows}
          rowHeight={isNarrow.value ? 58 : 44}
          keyOf={(space) => space.id}
          draw={(space) => <SpaceRow space={space} version={version} />}
          label={t("app.workspaces")}
          selected={selected}
          onSelect={select}
          onOpen={(index) => rows[index] && go(workspaceHref(rows[index].id))}
        />
      ) : (
        <Nothing />
      )}
    </section>
  );
}

function Nothing(): JSX.Element {
  if (fleet.failure.value) return <p class="empty bad">{fleet.failure.value}</p>;
  if (!fleet.loaded.value) return <p class="empty">{t("list.loading")}</p>;
  if (fleet.spaces.size > 0) return <p class="empty">{t("list.none")}</p>;
  return (
    <div class="empty">
      <p>{t("list.empty")}</p>
      <a class="button primary" href={workspaceHref("demo")}>
        {t("list.new")}
      </a>
    </div>
  );
}

function StateChip({ state, n }: { state: SpaceState | ""; n: number }): JSX.Element {
  return (
    <button class="chip" aria-pressed={only.value === state} onClick={() => (only.value = state)}>
      {state ? <span class={`dot ${state}`} aria-hidden="true" /> : null}
      {state ? t(`state.${state}`) : t("list.all")} <b>{count(n)}</b>
    </button>
  );
}

/** Spaces change in place: the version says that there may be something to draw anew. */
function SpaceRow({ space }: { space: Space; version: number }): JSX.Element {
  void now.value; // ages grow
  const state = stateOf(space);
  return (
    <>
      <span class="col-state">
        <State of={state} />
      </span>
      <span class="col-name strong">{space.id}</span>
      <span class="col-turn quiet">{about(space)}</span>
      <span class="col-queue num">{space.queue.size || ""}</span>
      <span class="col-last quiet">
        <span class="last-type">{space.lastType}</span> {space.lastTime ? age(space.lastTime) : ""}
      </span>
      <span class="col-cost num">{money(space.cost)}</span>
    </>
  );
}
