import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { asCurl, call, query, workspacePath } from "../api";
import { gist } from "../conversation/item_view";
import { clock, count, moment } from "../format";
import { t, type Word } from "../i18n";
import { go, workspaceHref } from "../router";
import type { Envelope, StreamPage } from "../types";
import { fields, flatText, pretty, text } from "../values";
import { VirtualList } from "../virtual_list";
import { EventLog, parametersOf, searchFields, searchOf, type Search } from "./log";

const outcomes = ["succeeded", "failed", "cancelled", "interrupted"];

export function EventsView({ asked }: { asked: URLSearchParams }): JSX.Element {
  const key = asked.toString();
  const search = searchOf(asked);
  const live = asked.get("live") !== "0";
  const [opened, setOpened] = useState<{ key: string; log: EventLog } | null>(null);
  const [chosen, choose] = useState<Envelope | null>(null);
  useEffect(() => {
    const log = new EventLog(search, live);
    setOpened({ key, log });
    choose(null);
    return () => log.close();
  }, [key]);
  return (
    <section class="page events" aria-label={t("app.events")}>
      <h1 class="sr">{t("app.events")}</h1>
      <SearchForm key={key} search={search} live={live} />
      <div class={`split ${chosen ? "open" : ""}`}>
        {/* What the question before has found is no answer to this one, nor is the place in its list. */}
        {opened?.key === key ? (
          <Rows key={key} log={opened.log} chosen={chosen} choose={choose} />
        ) : null}
        {chosen ? <Detail event={chosen} close={() => choose(null)} /> : null}
      </div>
    </section>
  );
}

function toAddress(search: Search, live: boolean): string {
  const given = Object.fromEntries(searchFields.map((field) => [field, search[field].trim()]));
  return `#/events${query({ ...given, live: live ? "" : "0" })}`;
}

function SearchForm({ search, live }: { search: Search; live: boolean }): JSX.Element {
  const [draft, setDraft] = useState(search);
  const field = (
    name: keyof Search,
    word: Word,
    extra: JSX.InputHTMLAttributes<HTMLInputElement> = {},
  ) => (
    <label class={`field f-${name}`}>
      <span>{t(word)}</span>
      <input
        value={draft[name]}
        onInput={(event) => setDraft({ ...draft, [name]: event.currentTarget.value })}
        {...extra}
      />
    </label>
  );
  return (
    <form
      class="bar search"
      role="search"
      aria-label={t("app.events")}
      onSubmit={(event) => {
        event.preventDefault();
        go(toAddress(draft, live));
      }}
    >
      {field("text", "events.text", { id: "filter", type: "search" })}
      {field("workspace", "events.workspace")}
      {field("types", "events.types", { placeholder: t("events.types.hint") })}
      {field("tool", "events.tool")}
      <label class="field f-outcome">
        <span>{t("events.outcome")}</span>
        <select
          value={draft.outcome}
          onChange={(event) => setDraft({ ...draft, outcome: event.currentTarget.value })}
        >
          <option value="">{t("list.all")}</option>
          {outcomes.map((outcome) => (
            <option key={outcome} value={outcome}>
              {t(`state.${outcome}` as Word)}
            </option>
          ))}
        </select>
      </label>
      {field("turn", "events.turn")}
      {field("from", "events.from", { type: "datetime-local" })}
      {field("to", "events.to", { type: "datetime-local" })}
      <div class="actions">
        <button class="primary">{t("events.apply")}</button>
        <button type="button" onClick={() => go("#/events")}>
          {t("events.clear")}
        </button>
        <button type="button" aria-pressed={live} onClick={() => go(toAddress(search, !live))}>
          {t("events.live")}
        </button>
        <Copy
          label={t("events.copy.query")}
          value={() =>
            asCurl(`/api/v1/events${query(parametersOf(search))}`, {
              Accept: "application/x-ndjson",
            })
          }
        />
      </div>
    </form>
  );
}

interface RowsProps {
  log: EventLog;
  chosen: Envelope | null;
  choose: (event: Envelope | null) => void;
}

function Rows({ log, chosen, choose }: RowsProps): JSX.Element {
  void log.version.value;
  const state = log.state.value;
  const { rows } = log;
  const status: Record<typeof state, string> = {
    searching: t("events.searching", { at: log.reached.value || "…" }),
    more: `${t("events.count", { n: count(rows.length) })} · ${t("events.older")}`,
    complete: `${t("events.count", { n: count(rows.length) })} · ${t("events.complete")}`,
    failed: log.detail.value,
  };
  return (
    <div class="event-list">
      <div class="grid-head events" aria-hidden="true">
        <span>{t("events.time")}</span>
        <span>{t("events.workspace")}</span>
        <span class="num">{t("events.place")}</span>
        <span>{t("events.type")}</span>
        <span>{t("events.what")}</span>
      </div>
      {rows.length > 0 || state === "searching" ? (
        <VirtualList
          className="events"
          rows={rows}
          rowHeight={28}
          keyOf={(event) => event.position}
          draw={(event) => <EventRow event={event} />}
          label={t("events.list")}
          selected={chosen ? rows.findIndex((event) => event.position === chosen.position) : -1}
          onSelect={(index) => choose(rows[index] ?? null)}
          onEnd={() => void log.readOlder()}
          keepPlace
        />
      ) : (
        <p class="empty">{t("events.none")}</p>
      )}
      <p class={`foot ${state === "failed" ? "bad" : "quiet"}`} role="status">
        {status[state]}
      </p>
    </div>
  );
}

/** The part of an event that tells it from its neighbours. */
export function summary(event: Envelope): string {
  const data = event.data;
  const item = fields(data.item);
  if (event.type === "item.delta") return text(data.text);
  if (event.type.startsWith("item.")) {
    const what = text(item.text) || gist(item.input) || flatText(item.content);
    return [text(item.name) || text(item.kind), what].filter(Boolean).join("  ");
  }
  if (event.type === "turn.completed")
    return [text(data.outcome), text(fields(data.error).message) || text(data.text)].join("  ");
  if (event.type.startsWith("permission.") || event.type.startsWith("question."))
    return [text(data.tool), text(data.decision) || gist(data.input)].join("  ");
  return (
    text(data.prompt_preview) ||
    text(data.text) ||
    text(data.message) ||
    text(data.model) ||
    text(data.reason) ||
    text(data.via) ||
    text(data.agent)
  );
}

function EventRow({ event }: { event: Envelope }): JSX.Element {
  const bad =
    event.type === "fault" ||
    event.data.outcome === "failed" ||
    fields(event.data.item).is_error === true;
  return (
    <>
      <span class="num quiet">{clock(event.time, true)}</span>
      <span class="strong">{event.workspace}</span>
      <span class="num quiet">{event.offset}</span>
      <span class={`type of-${event.type.split(".")[0]} ${bad ? "bad" : ""}`}>{event.type}</span>
      <span class="what">{summary(event).slice(0, 300)}</span>
    </>
  );
}

function Detail({ event, close }: { event: Envelope; close: () => void }): JSX.Element {
  const path = workspacePath(
    event.workspace,
    `/events${query({ after: `${event.epoch}-${event.offset - 1}`, limit: 1, raw: true })}`,
  );
  const [raw, setRaw] = useState<string | null | undefined>(undefined);
  useEffect(() => {
    const stopped = new AbortController();
    setRaw(undefined);
    call<StreamPage>(path, { signal: stopped.signal })
      .then((page) => setRaw(page.events[0]?.raw ?? null))
      .catch((failure: unknown) => {
        if (!stopped.signal.aborted)
          setRaw(failure instanceof Error ? failure.message : String(failure));
      });
    return () => stopped.abort();
  }, [path]);
  return (
    <aside class="detail" aria-label={t("events.detail")}>
      <div class="bar">
        <h2>
          {event.type}{" "}
          <span class="quiet num">
            {event.workspace} {event.epoch}-{event.offset}
          </span>
        </h2>
        <span class="grow" />
        <button class="icon" aria-label={t("app.close")} onClick={close}>
          ✕
        </button>
      </div>
      <div class="bar">
        <time class="quiet" dateTime={event.time}>
          {moment(event.time)}
        </time>
        <span class="grow" />
        <a class="button" href={workspaceHref(event.workspace, "", event.offset)}>
          {t("events.open")}
        </a>
        <Copy label={t("events.copy")} value={() => asCurl(path)} />
      </div>
      <div class="sides">
        <section aria-label={t("events.universal")}>
          <h3>{t("events.universal")}</h3>
          <pre tabIndex={0}>{pretty(withoutRaw(event))}</pre>
        </section>
        <section aria-label={t("events.raw")}>
          <h3>{t("events.raw")}</h3>
          {raw ? (
            <pre tabIndex={0} class="raw">
              {raw}
            </pre>
          ) : (
            <p class="quiet">{raw === null ? t("events.raw.none") : t("list.loading")}</p>
          )}
        </section>
      </div>
    </aside>
  );
}

function withoutRaw(event: Envelope): Envelope {
  const { raw: _, ...rest } = event;
  return rest;
}

function Copy({ label, value }: { label: string; value: () => string }): JSX.Element {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await copyText(value());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" onClick={() => void copy()}>
      {done ? t("events.copied") : label}
    </button>
  );
}

/** Where a page is not secure (HTTP to another machine) there is no clipboard but the old way. */
async function copyText(value: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(value);
  const area = document.createElement("textarea");
  area.value = value;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
