import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, workspacePath } from "../api";
import { openPermissions } from "../conversation/reduce";
import { DecisionCard } from "./decision";
import { duration, money, now } from "../format";
import { t } from "../i18n";
import type { SpaceFeed } from "./space_feed";

/** What runs and what waits, as the stream tells it. */
export function QueuePanel({ feed }: { feed: SpaceFeed }): JSX.Element {
  void feed.version.value;
  const open = feed.live.turns.filter(
    (turn) => turn.id && !turn.outcome && (turn.queued || turn.started),
  );
  return (
    <section class="panel" aria-labelledby="queue-title">
      <h2 id="queue-title">{t("space.queue")}</h2>
      {open.length === 0 ? <p class="quiet">{t("space.queue.none")}</p> : null}
      <ul class="tasks">
        {open.map((turn) => (
          <TaskLine
            key={turn.id}
            id={feed.id}
            turn={turn.id}
            prompt={turn.prompt}
            started={turn.started}
            queued={turn.queued}
          />
        ))}
      </ul>
    </section>
  );
}

interface TaskLineProps {
  id: string;
  turn: string;
  prompt: string;
  started: string | null;
  queued: string | null;
}

function TaskLine({ id, turn, prompt, started, queued }: TaskLineProps): JSX.Element {
  const [failure, setFailure] = useState("");
  const [asked, setAsked] = useState(false);
  const since = started ?? queued;
  const time = since ? duration(Math.max(0, now.value - Date.parse(since))) : "";
  const cancel = async () => {
    setAsked(true);
    try {
      await call(workspacePath(id, `/turns/${encodeURIComponent(turn)}`), { method: "DELETE" });
    } catch (reason) {
      setFailure(reason instanceof Error ? reason.message : String(reason));
      setAsked(false);
    }
  };
  return (
    <li>
      <div class="task-text">{prompt.slice(0, 200)}</div>
      <div class="meta">
        <span class={`state ${started ? "running" : "queued"}`}>
          <span class={`dot ${started ? "running" : "queued"}`} aria-hidden="true" />
          {t(started ? "space.running_for" : "space.waits", { time })}
        </span>
        <span class="grow" />
        <button
          disabled={asked}
          aria-label={t("space.cancel.what", { task: prompt.slice(0, 60) })}
          onClick={() => void cancel()}
        >
          {t("space.cancel")}
        </button>
      </div>
      {failure ? <p class="bad">{failure}</p> : null}
    </li>
  );
}

/** Requests that wait for somebody. */
export function DecisionsPanel({ feed }: { feed: SpaceFeed }): JSX.Element | null {
  void feed.version.value;
  const open = openPermissions(feed.live).filter(({ permission }) => permission.expires);
  if (open.length === 0) return null;
  return (
    <section class="panel attention" aria-labelledby="decisions-title">
      <h2 id="decisions-title">{t("space.decisions")}</h2>
      {open.map(({ permission }) => (
        <DecisionCard key={permission.id} workspace={feed.id} request={permission} />
      ))}
    </section>
  );
}

export function FactsPanel({ feed }: { feed: SpaceFeed }): JSX.Element {
  void feed.version.value;
  const { live } = feed;
  const facts: [string, string][] = [
    [t("space.fact.events"), String(live.offset)],
    [t("space.fact.epoch"), String(live.epoch || "")],
    [t("space.fact.agent"), live.agent],
    [t("space.fact.model"), live.model],
    [t("space.fact.policy"), live.policy],
    [t("space.fact.session"), live.session],
    [t("space.fact.cost"), money(live.cost)],
  ];
  return (
    <section class="panel facts" aria-labelledby="facts-title">
      <h2 id="facts-title">{t("space.facts")}</h2>
      <dl>
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd title={value}>{value}</dd>
            </div>
          ))}
      </dl>
    </section>
  );
}

const drafts = signal<Record<string, string>>({}); // by workspace: leaving a page loses no words

export function Composer({ feed }: { feed: SpaceFeed }): JSX.Element {
  const id = feed.id;
  const [state, setState] = useState<{ busy: boolean; good: string; bad: string }>({
    busy: false,
    good: "",
    bad: "",
  });
  // One key a task: a second press, or a retry after a lost answer, makes no second turn.
  const [key, setKey] = useState(() => crypto.randomUUID?.() ?? String(Math.random()));
  const words = drafts.value[id] ?? "";
  const write = (value: string) => (drafts.value = { ...drafts.value, [id]: value });

  useEffect(() => setState({ busy: false, good: "", bad: "" }), [id]);
  const send = async () => {
    if (!words.trim() || state.busy) return;
    setState({ busy: true, good: "", bad: "" });
    try {
      const answer = await call<{ place: number }>(workspacePath(id, "/turns"), {
        method: "POST",
        body: { prompt: words, source: "inspector" },
        headers: { "Idempotency-Key": key },
      });
      write("");
      setKey(crypto.randomUUID?.() ?? String(Math.random()));
      setState({
        busy: false,
        good: answer.place > 0 ? t("space.sent.place", { n: answer.place }) : "",
        bad: "",
      });
      feed.look(null);
      feed.wake();
    } catch (reason) {
      setState({
        busy: false,
        good: "",
        bad: reason instanceof Error ? reason.message : String(reason),
      });
    }
  };
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        id="task"
        rows={Math.min(10, Math.max(2, words.split("\n").length))}
        value={words}
        placeholder={t("space.send.placeholder")}
        aria-label={t("space.send.label", { id })}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
            event.preventDefault();
            void send();
          }
        }}
      />
      <div class="composer-side">
        <button class="primary" disabled={state.busy || !words.trim()}>
          {t("space.send")}
        </button>
        <span class="quiet hint">{t("space.send.hint")}</span>
      </div>
      <p class={`composer-note ${state.bad ? "bad" : "quiet"}`} role="status">
        {state.bad || state.good}
      </p>
    </form>
  );
}
