import type { JSX } from "preact";
import { memo } from "preact/compat";
import { compact, duration, moment, money } from "../format";
import { t } from "../i18n";
import { State } from "../state_mark";
import { number, pretty } from "../values";
import { ChangedFiles } from "./changed_files";
import { Clipped, ItemView, NoticeView } from "./item_view";
import { Markdown } from "./markdown";
import type { Turn } from "./reduce";

interface Shown {
  turn: Turn;
  revision: number;
  language: string;
}

/** With the revision, without which a part that reads a signal would take the turn for the same. */
interface Part {
  turn: Turn;
  revision: number;
}

export const TurnView = memo(
  ({ turn, revision, language }: Shown) => (
    <article
      class={`turn ${turn.id ? "" : "loose"}`}
      aria-label={turn.id ? t("turn.prompt") : t("item.background")}
    >
      {turn.id && (turn.prompt || turn.queued) ? <Prompt turn={turn} revision={revision} /> : null}
      {turn.entries.map((entry) =>
        entry.form === "item" ? (
          <ItemView key={entry.id} item={entry} revision={entry.revision} language={language} />
        ) : (
          <NoticeView key={entry.offset} notice={entry} />
        ),
      )}
      {turn.id ? <Ending turn={turn} revision={revision} /> : null}
    </article>
  ),
  (a, b) =>
    a.turn.id === b.turn.id &&
    a.turn.offset === b.turn.offset &&
    a.revision === b.revision &&
    a.language === b.language,
);

function Prompt({ turn }: Part): JSX.Element {
  const who = turn.source || turn.by;
  return (
    <header class="prompt">
      <div class="meta">
        <b>{t("turn.prompt")}</b>
        {who ? <span>{t("turn.from", { who })}</span> : null}
        {turn.attempt > 1 ? (
          <span class="tag warn">{t("turn.attempt", { n: turn.attempt })}</span>
        ) : null}
        <span class="grow" />
        {turn.queued ? <time dateTime={turn.queued}>{moment(turn.queued)}</time> : null}
      </div>
      <Clipped label={t("turn.prompt")} value={turn.prompt} />
    </header>
  );
}

function Ending({ turn }: Part): JSX.Element {
  if (!turn.outcome) {
    return (
      <footer class="ending">
        <State of={turn.started ? "running" : "queued"} />
      </footer>
    );
  }
  const said = turn.entries.some(
    (entry) => entry.form === "item" && entry.kind === "message" && entry.text,
  );
  return (
    <footer class="ending">
      {!said && turn.result ? <Markdown source={turn.result} /> : null}
      {turn.changes.length > 0 ? <ChangedFiles turn={turn} revision={turn.revision} /> : null}
      {turn.error ? (
        <div class="failure" role="note">
          <b>{turn.error.code}</b>
          <pre tabIndex={0}>{turn.error.message}</pre>
          {turn.error.details ? <pre tabIndex={0}>{pretty(turn.error.details)}</pre> : null}
        </div>
      ) : null}
      <div class="meta">
        <State of={turn.outcome} />
        <span>{duration(turn.duration)}</span>
        <span>
          {t("turn.tokens", {
            in: compact(number(turn.usage.input)),
            out: compact(number(turn.usage.output)),
          })}
        </span>
        <span>{money(turn.cost)}</span>
      </div>
    </footer>
  );
}
