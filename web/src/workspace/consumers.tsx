import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { call, workspacePath } from "../api";
import { clock, count } from "../format";
import { t } from "../i18n";

const pollInterval = 5000; // milliseconds: places are no events, so no stream tells of them

interface Webhook {
  url: string;
  state: "active" | "dead";
  error: string | null;
  attempts: number;
  failed: string | null;
  next_attempt: string | null;
}

/** A reader whose place the server keeps (docs/events.md, Consumers). */
interface Consumer {
  name: string;
  cursor: string;
  lag: number;
  acked: string | null;
  webhook?: Webhook;
}

function failing({ attempts, failed, next_attempt: next }: Webhook, why: string): string {
  const said = t("space.consumers.failing", {
    n: count(attempts),
    at: failed ? clock(failed) : "",
    why,
  });
  return next ? `${said} ${t("space.consumers.next", { at: clock(next) })}` : said;
}

/** Who reads along and how far each is behind; nothing where nobody does. */
export function ConsumersPanel({ id }: { id: string }): JSX.Element | null {
  const [consumers, setConsumers] = useState<Consumer[]>([]);
  useEffect(() => {
    const leave = new AbortController();
    setConsumers([]);
    const look = async () => {
      if (document.visibilityState !== "visible") return;
      try {
        const path = workspacePath(id, "/consumers");
        const answer = await call<{ consumers: Consumer[] }>(path, { signal: leave.signal });
        setConsumers(answer.consumers);
      } catch {
        // The workspace is not there yet, or the server is away: what is shown stays.
      }
    };
    void look();
    const timer = setInterval(() => void look(), pollInterval);
    return () => {
      clearInterval(timer);
      leave.abort();
    };
  }, [id]);
  if (consumers.length === 0) return null;
  return (
    <section class="panel" aria-labelledby="consumers-title">
      <h2 id="consumers-title">{t("space.consumers")}</h2>
      <ul class="tasks">
        {consumers.map((one) => (
          <li key={one.name}>
            <div class="task-text">
              {one.name}
              {one.webhook ? <span class="quiet"> → {one.webhook.url}</span> : null}
            </div>
            <div class="meta" title={one.cursor}>
              {one.lag === 0
                ? t("space.consumers.up")
                : t("space.consumers.lag", { n: count(one.lag) })}
            </div>
            {one.webhook?.state === "dead" ? (
              <p class="bad">{t("space.consumers.dead", { why: one.webhook.error ?? "" })}</p>
            ) : null}
            {one.webhook?.state === "active" && one.webhook.error ? (
              <p class="bad">{failing(one.webhook, one.webhook.error)}</p>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
