import type { JSX } from "preact";
import { memo } from "preact/compat";
import { useState } from "preact/hooks";
import { duration } from "../format";
import { t } from "../i18n";
import { fields, number, pretty, text } from "../values";
import { changesOf, Diff } from "./file_change";
import { Markdown } from "./markdown";
import { questionsOf, type Item, type Notice } from "./reduce";

interface Shown {
  item: Item;
  revision: number;
  language: string;
}

/** Items change in place: their revision says whether there is something to draw anew. */
const same = (a: Shown, b: Shown) =>
  a.item.id === b.item.id &&
  a.revision === b.revision &&
  a.language === b.language &&
  a.item.offset === b.item.offset;

/** With the revision, without which a part that reads a signal would take the item for the same. */
interface Part {
  item: Item;
  revision: number;
}

export const ItemView = memo(({ item, revision }: Shown) => {
  if (item.kind === "reasoning") return <Reasoning item={item} revision={revision} />;
  if (item.kind === "tool_call" || item.kind === "tool_result")
    return <ToolCall item={item} revision={revision} />;
  return <Message item={item} revision={revision} />;
}, same);

function Message({ item }: Part): JSX.Element {
  return (
    <div class={`said ${item.parent ? "nested" : ""} ${item.ended ? "" : "speaking"}`}>
      <Markdown source={item.text} />
      {item.status === "interrupted" ? <span class="tag warn">{t("item.interrupted")}</span> : null}
    </div>
  );
}

function Reasoning({ item }: Part): JSX.Element {
  return (
    <details class="reasoning">
      <summary>
        {t("item.reasoning")}{" "}
        <span class="quiet">{item.text.trim().split("\n", 1)[0]?.slice(0, 120)}</span>
      </summary>
      <Markdown source={item.text} />
    </details>
  );
}

/** The part of a tool's input that says most in one line. */
export function gist(input: unknown): string {
  const given = fields(input);
  for (const name of [
    "command",
    "file_path",
    "path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
  ]) {
    const value = text(given[name]);
    if (value) return value.split("\n", 1)[0] ?? "";
  }
  return "";
}

/** What the agent asks people, as they would be asked. */
function Questions({ item }: Part): JSX.Element {
  return (
    <div class="asked">
      {questionsOf(item.input).map((each, index) => (
        <div key={index}>
          <p>
            {each.header ? <span class="tag">{each.header}</span> : null} {each.text}
          </p>
          <ul>
            {each.options.map(({ label, about }) => (
              <li key={label}>
                <b>{label}</b> {about ? <span class="quiet">{about}</span> : null}
              </li>
            ))}
          </ul>
        </div>
      ))}
    </div>
  );
}

function ToolCall({ item, revision }: Part): JSX.Element {
  const changes = changesOf(item.name, item.input);
  const took = item.ended ? Date.parse(item.ended) - Date.parse(item.started) : 0;
  const bad = item.failed || item.status === "failed";
  return (
    <details
      class={`tool ${bad ? "bad" : ""} ${item.parent ? "nested" : ""}`}
      open={bad || changes.length > 0 || item.ended === null}
    >
      <summary>
        <span class="name">{item.name || item.kind}</span>
        <span class="gist">{gist(item.input)}</span>
        {bad ? <span class="tag error">{t("item.failed")}</span> : null}
        {item.status === "interrupted" ? (
          <span class="tag warn">{t("item.interrupted")}</span>
        ) : null}
        <span class="quiet num">
          {item.ended === null ? <span class="spin" aria-hidden="true" /> : duration(took)}
        </span>
      </summary>
      {changes.length > 0 ? (
        changes.map((change, index) => <Diff key={index} change={change} />)
      ) : questionsOf(item.input).length > 0 ? (
        <Questions item={item} revision={revision} />
      ) : (
        <Input item={item} revision={revision} />
      )}
      {item.permission && item.permission.decision !== "allow" ? (
        <PermissionLine item={item} revision={revision} />
      ) : null}
      {item.output === null ? null : item.output === "" ? (
        <p class="quiet none">{t("item.no_output")}</p>
      ) : (
        <Clipped label={t("item.output")} value={item.output} bad={bad} />
      )}
    </details>
  );
}

function Input({ item }: Part): JSX.Element | null {
  const given = fields(item.input);
  const command = text(given.command);
  if (command) return <Clipped label={t("item.input")} value={command} prompt />;
  return Object.keys(given).length > 0 ? (
    <Clipped label={t("item.input")} value={pretty(given)} />
  ) : null;
}

function PermissionLine({ item }: Part): JSX.Element {
  const { tool, decision, by, message } = item.permission!;
  return (
    <p class={`line ${decision === "deny" ? "error" : "warn"}`}>
      {decision
        ? t("item.permission", { tool, decision, by })
        : t("item.permission.open", { tool })}
      {message ? ` — ${message}` : ""}
    </p>
  );
}

const clipAt = 24;

/** A text as it is; a long one folded, a failure never. */
export function Clipped(props: {
  label: string;
  value: string;
  bad?: boolean;
  prompt?: boolean;
}): JSX.Element {
  const [whole, showWhole] = useState(false);
  const lines = props.value.split("\n");
  const clipped = !props.bad && !whole && (lines.length > clipAt + 4 || props.value.length > 8000);
  const shown = clipped ? lines.slice(0, clipAt).join("\n").slice(0, 8000) : props.value;
  return (
    <div class={`io ${props.bad ? "error" : ""}`}>
      <pre tabIndex={0} aria-label={props.label}>
        {props.prompt ? (
          <span class="quiet" aria-hidden="true">
            ${" "}
          </span>
        ) : null}
        {shown}
      </pre>
      {clipped ? (
        <button class="link" onClick={() => showWhole(true)}>
          {t("item.more", { n: lines.length })}
        </button>
      ) : null}
    </div>
  );
}

export function NoticeView({ notice }: { notice: Notice }): JSX.Element | null {
  const data = notice.data;
  switch (notice.type) {
    case "session.started":
      return (
        <Line>
          {t(data.resumed === true ? "item.session.resumed" : "item.session", {
            model: text(data.model) || "?",
          })}
        </Line>
      );
    case "session.lost":
      return <Line tone="warn">{t("item.session.lost", { reason: text(data.reason) })}</Line>;
    case "session.reset":
      return <Line>{t("item.session.reset")}</Line>;
    case "agent.retrying":
      return (
        <Line tone="warn">
          {t("item.retry", {
            error: text(data.error) || String(number(data.status)),
            n: number(data.attempt),
            max: number(data.max),
            delay: duration(number(data.delay_ms)),
          })}
        </Line>
      );
    case "agent.notice":
      return <Line>{text(data.text) || text(data.code)}</Line>;
    case "fault":
      return (
        <Line tone="error">
          {t("item.fault", { what: `${text(data.component)}: ${text(data.message)}` })}
        </Line>
      );
    case "shell.opened":
      return <Line>{t("item.shell.opened", { by: text(data.by) || "client" })}</Line>;
    case "shell.closed":
      return <Line>{t("item.shell.closed", { reason: text(data.reason) })}</Line>;
    case "agent.noise":
      return (
        <details class="line">
          <summary>{t("item.noise")}</summary>
          <pre>{text(data.text)}</pre>
        </details>
      );
    case "agent.opaque":
      return (
        <Line>
          {t("item.opaque", {
            what: [data.type, data.subtype].map(text).filter(Boolean).join(" "),
          })}
        </Line>
      );
    case "events.removed":
      return (
        <Line>
          {t(data.what === "deltas" ? "item.removed.deltas" : "item.removed", {
            from: number(data.from),
            to: number(data.to),
            reason: text(data.reason),
          })}
        </Line>
      );
    case "permission.rule":
      return (
        <Line>
          {t(data.change === "removed" ? "item.rule.removed" : "item.rule.added", {
            what: [data.tool, data.command].map(text).filter(Boolean).join(" "),
            by: text(data.by),
          })}
        </Line>
      );
    case "webhook.dead":
      return (
        <Line tone="warn">
          {t("item.webhook", { name: text(data.webhook), why: text(data.error) })}
        </Line>
      );
    case "workspace.configured":
      return <Line>{t("item.configured", { by: text(data.by) })}</Line>;
    default:
      return <Line>{notice.type}</Line>;
  }
}

function Line({ children, tone }: { children: string; tone?: string }): JSX.Element {
  return <p class={`line ${tone ?? ""}`}>{children}</p>;
}
