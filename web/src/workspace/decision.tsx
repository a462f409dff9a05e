import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { call, workspacePath } from "../api";
import type { Permission, Question } from "../conversation/reduce";
import { duration, now } from "../format";
import { t } from "../i18n";
import { fields, pretty, text } from "../values";

type Decision = "allow" | "allow_always" | "deny";

/** One request of the agent and its answers. The first card on the page takes the keys a, A and d (app.tsx). */
export function DecisionCard(props: { workspace: string; request: Permission }): JSX.Element {
  const { workspace, request } = props;
  const [asked, setAsked] = useState(false);
  const [failure, setFailure] = useState("");
  const [answers, setAnswers] = useState<Record<string, string>>({});
  const isQuestion = request.kind === "question";
  // All of it: what is allowed must have been seen.
  const wish = text(fields(request.input).command) || pretty(fields(request.input));
  const left = duration(Math.max(0, Date.parse(request.expires) - now.value));
  const decide = async (decision: Decision) => {
    setAsked(true);
    setFailure("");
    try {
      await call(workspacePath(workspace, `/permissions/${encodeURIComponent(request.id)}`), {
        method: "POST",
        body: isQuestion && decision === "allow" ? { decision, answers } : { decision },
      });
    } catch (reason) {
      setFailure(reason instanceof Error ? reason.message : String(reason));
      setAsked(false);
    }
  };
  const answer = (question: string, value: string) =>
    setAnswers((given) => ({ ...given, [question]: value }));
  const ready = request.questions.every((each) => answers[each.text]?.trim());
  const button = (decision: Decision, label: string, key: string, disabled = false) => (
    <button
      class={decision === "allow" ? "primary" : ""}
      data-decision={decision}
      disabled={asked || disabled}
      onClick={() => void decide(decision)}
    >
      {label} <kbd aria-hidden="true">{key}</kbd>
    </button>
  );
  return (
    <div class="decision" role="group" aria-label={request.tool}>
      {isQuestion ? (
        request.questions.map((each) => (
          <QuestionPart
            key={each.text}
            question={each}
            value={answers[each.text] ?? ""}
            onChange={(value) => answer(each.text, value)}
          />
        ))
      ) : (
        <>
          <p>
            <b>{request.tool}</b> {request.description}
          </p>
          <pre class="wish" tabIndex={0}>
            {wish}
          </pre>
        </>
      )}
      <p class="quiet">{t("space.decisions.left", { time: left })}</p>
      <div class="answers">
        {isQuestion ? (
          button("allow", t("space.decisions.answer"), "a", !ready)
        ) : (
          <>
            {button("allow", t("space.decisions.allow"), "a")}
            {button("allow_always", t("space.decisions.always"), "A")}
          </>
        )}
        {button("deny", t(isQuestion ? "space.decisions.decline" : "space.decisions.deny"), "d")}
      </div>
      {!isQuestion && request.always ? (
        <p class="quiet">{t("space.decisions.scope", { what: request.always })}</p>
      ) : null}
      {failure ? (
        <p class="bad" role="alert">
          {failure}
        </p>
      ) : null}
    </div>
  );
}

interface QuestionPartProps {
  question: Question;
  value: string;
  onChange: (value: string) => void;
}

/** The options are short cuts: the answer is a text, and may be another one. */
function QuestionPart({ question, value, onChange }: QuestionPartProps): JSX.Element {
  const chosen = value.split(", ").filter(Boolean);
  const choose = (option: string) => {
    if (!question.many) return onChange(option);
    const next = chosen.includes(option)
      ? chosen.filter((each) => each !== option)
      : [...chosen, option];
    onChange(next.join(", "));
  };
  return (
    <div class="question">
      <p>
        <b>{question.text}</b>
        {question.many ? <span class="quiet"> {t("space.decisions.many")}</span> : null}
      </p>
      <div class="answers">
        {question.options.map(({ label, about }) => (
          <button
            key={label}
            title={about || undefined}
            aria-pressed={chosen.includes(label)}
            onClick={() => choose(label)}
          >
            {label}
          </button>
        ))}
      </div>
      <input
        type="text"
        value={value}
        placeholder={t("space.decisions.other")}
        aria-label={question.text}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
    </div>
  );
}
