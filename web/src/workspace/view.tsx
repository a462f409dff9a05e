import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { openPermissions } from "../conversation/reduce";
import { TurnView } from "../conversation/turn_view";
import { count } from "../format";
import { t } from "../i18n";
import { language } from "../preferences";
import { workspaceHref } from "../router";
import { State } from "../state_mark";
import { ConsumersPanel } from "./consumers";
import { Composer, DecisionsPanel, FactsPanel, QueuePanel } from "./queue";
import { SpaceFeed } from "./space_feed";
import { Timeline } from "./timeline";

type ShellView = (props: { workspace: string }) => JSX.Element;

export function WorkspaceView({
  id,
  tab,
  at,
}: {
  id: string;
  tab: "conversation" | "shell";
  at: number | null;
}): JSX.Element {
  const [feed, setFeed] = useState<SpaceFeed | null>(null);
  useEffect(() => {
    const opened = new SpaceFeed(id, at);
    setFeed(opened);
    return () => opened.close();
  }, [id, at]);
  return (
    <section class="page space" aria-label={id}>
      <header class="bar space-head">
        <a class="crumb" href="#/">
          {t("app.workspaces")}
        </a>
        <h1>{id}</h1>
        {feed ? <SpaceState feed={feed} /> : null}
        <nav class="tabs" aria-label={id}>
          <a href={workspaceHref(id)} aria-current={tab === "conversation" ? "page" : undefined}>
            {t("space.conversation")}
          </a>
          <a href={workspaceHref(id, "shell")} aria-current={tab === "shell" ? "page" : undefined}>
            {t("space.shell")}
          </a>
          <a href={`#/events?workspace=${encodeURIComponent(id)}`}>{t("space.events")}</a>
        </nav>
      </header>
      {tab === "shell" ? (
        <LazyShell workspace={id} />
      ) : feed ? (
        <Conversation key={id} feed={feed} />
      ) : null}
    </section>
  );
}

function SpaceState({ feed }: { feed: SpaceFeed }): JSX.Element {
  void feed.version.value;
  const turns = feed.live.turns.filter((turn) => turn.id);
  const running = turns.some((turn) => turn.started && !turn.outcome);
  const queued = turns.some((turn) => !turn.started && !turn.outcome && turn.queued);
  const waiting = openPermissions(feed.live).some(({ permission }) => permission.expires);
  return <State of={waiting ? "waiting" : running ? "running" : queued ? "queued" : "idle"} />;
}

/** The terminal is most of the page's code, and rarely needed. */
function LazyShell({ workspace }: { workspace: string }): JSX.Element {
  const [view, setView] = useState<{ Shell: ShellView } | null>(null);
  useEffect(() => {
    let left = false;
    void import("./shell").then(({ Shell }) => {
      if (!left) setView({ Shell });
    });
    return () => {
      left = true;
    };
  }, []);
  return view ? (
    <view.Shell key={workspace} workspace={workspace} />
  ) : (
    <p class="empty">{t("shell.connecting")}</p>
  );
}

const turnsShown = 40;
const nearEnd = 80;

function Conversation({ feed }: { feed: SpaceFeed }): JSX.Element {
  const version = feed.version.value;
  const at = feed.at.value;
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [most, setMost] = useState(turnsShown);
  const all = feed.shown.turns.filter(
    (turn) => turn.queued || turn.started || turn.outcome || turn.entries.length > 0,
  );
  const turns = all.slice(-most);
  const hidden = all.length - turns.length;
  const spoken = language.value;

  // Who reads the end goes on reading the end; who has scrolled away stays.
  useLayoutEffect(() => {
    if (box.current && (atEnd.current || at !== null))
      box.current.scrollTop = box.current.scrollHeight;
  }, [version, at]);

  const earlier = async () => {
    atEnd.current = false;
    if (hidden === 0) await feed.readEarlier();
    setMost(most + turnsShown);
  };
  const more = hidden > 0 || feed.earlier > 0;
  return (
    <div class="space-body">
      <div class="space-main">
        <div
          class="conversation"
          ref={box}
          tabIndex={0}
          role="log"
          aria-live="off"
          aria-label={t("space.conversation")}
          onScroll={(event) => {
            const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
            atEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd;
          }}
        >
          {feed.gap.value ? (
            <p class="line warn">{t("space.gap", { reason: feed.gap.value })}</p>
          ) : null}
          {more ? (
            <button
              class="link earlier"
              disabled={feed.reading.value}
              onClick={() => void earlier()}
            >
              {t(feed.reading.value ? "list.loading" : "space.earlier", {
                n: count(feed.earlier || hidden),
              })}
            </button>
          ) : null}
          {!more && feed.first > 1 && !feed.gap.value ? (
            <p class="line warn">{t("space.trimmed", { first: count(feed.first) })}</p>
          ) : null}
          {feed.status.value !== "absent" && feed.detail.value ? (
            <p class="line error">{feed.detail.value}</p>
          ) : null}
          {turns.length === 0 ? (
            <p class="empty">
              {t(
                feed.status.value === "loading" || feed.reading.value
                  ? "list.loading"
                  : "space.empty",
              )}
            </p>
          ) : null}
          {turns.map((turn) => (
            <TurnView
              key={`${turn.id}/${turn.offset}`}
              turn={turn}
              revision={turn.revision}
              language={spoken}
            />
          ))}
        </div>
        {feed.head > 0 ? <Timeline feed={feed} /> : null}
        <Composer feed={feed} />
      </div>
      <aside class="space-side" aria-label={t("space.facts")}>
        <DecisionsPanel feed={feed} />
        <QueuePanel feed={feed} />
        <ConsumersPanel id={feed.id} />
        <FactsPanel feed={feed} />
      </aside>
    </div>
  );
}
