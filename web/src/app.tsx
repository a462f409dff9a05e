import { signal } from "@preact/signals";
import { Component, type ComponentChildren, type JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, forgetToken, token, tokenAsked, useToken } from "./api";
import { EventsView } from "./events/view";
import { connection } from "./feed";
import { clock } from "./format";
import { t, type Word } from "./i18n";
import { language, theme, type Theme } from "./preferences";
import { OverviewView } from "./overview/view";
import { go, place } from "./router";
import { WorkspaceView } from "./workspace/view";
import { WorkspacesView } from "./workspaces/view";

const helpShown = signal(false);
/** Unknown until the server has answered once: it may ask for a token. */
const admitted = signal(false);

export function App(): JSX.Element {
  const key = token.value;
  useEffect(() => {
    admitted.value = false;
    const stopped = new AbortController();
    const knock = async () => {
      try {
        await call("/ready", { signal: stopped.signal });
      } catch {
        // Not ready is for the views to show; a token that is asked for is shown below.
      }
      if (!stopped.signal.aborted) admitted.value = true;
    };
    void knock();
    return () => stopped.abort();
  }, [key]);

  if (tokenAsked.value !== null) return <TokenPage why={tokenAsked.value} />;
  return (
    <>
      <a class="skip" href="#main" onClick={focusMain}>
        {t("app.skip")}
      </a>
      <Header />
      <Banner />
      <main id="main" tabIndex={-1}>
        <Guard>{admitted.value ? <View /> : null}</Guard>
      </main>
      {helpShown.value ? <Help /> : null}
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** A view that fails says so in its place; the others go on. */
class Guard extends Component<{ children: ComponentChildren }, { failure: string }> {
  override state = { failure: "" };

  static override getDerivedStateFromError(error: unknown): { failure: string } {
    return { failure: error instanceof Error ? error.message : String(error) };
  }

  override render(): ComponentChildren {
    if (!this.state.failure) return this.props.children;
    return (
      <div class="empty bad">
        <p>{this.state.failure}</p>
        <button onClick={() => this.setState({ failure: "" })}>{t("app.retry")}</button>
      </div>
    );
  }
}

function View(): JSX.Element {
  const at = place.value;
  useEffect(() => {
    document.title =
      at.view === "workspace" ? `${at.id} · Tidemark` : `${t(`app.${at.view}`)} · Tidemark`;
  }, [at, language.value]);
  switch (at.view) {
    case "workspace":
      return <WorkspaceView id={at.id} tab={at.tab} at={at.at} />;
    case "events":
      return <EventsView asked={at.query} />;
    case "overview":
      return <OverviewView />;
    case "workspaces":
      return <WorkspacesView />;
  }
}

function Header(): JSX.Element {
  const at = place.value;
  const link = (view: "workspaces" | "events" | "overview", href: string) => {
    const here = at.view === view || (view === "workspaces" && at.view === "workspace");
    return (
      <a href={href} aria-current={here ? "page" : undefined}>
        {t(`app.${view}`)}
      </a>
    );
  };
  const [open, setOpen] = useState(false);
  const themes: Theme[] = ["system", "light", "dark"];
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Tidemark">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M5 11h22" stroke-dasharray="3 3.3" />
          <path d="M5 20c3.7-4 7.3-4 11 0s7.3 4 11 0" />
        </svg>
        <span>Tidemark</span>
      </a>
      <nav aria-label="Tidemark">
        {link("workspaces", "#/")}
        {link("events", "#/events")}
        {link("overview", "#/overview")}
      </nav>
      <span class="grow" />
      <Pulse />
      <button
        class="icon menu-button"
        aria-label={t("app.menu")}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        ⋯
      </button>
      <div class={`menu ${open ? "open" : ""}`}>
        <select
          aria-label={t("app.theme")}
          value={theme.value}
          onChange={(event) => (theme.value = event.currentTarget.value as Theme)}
        >
          {themes.map((each) => (
            <option key={each} value={each}>
              {t(`app.theme.${each}` as Word)}
            </option>
          ))}
        </select>
        <select
          aria-label={t("app.language")}
          value={language.value}
          onChange={(event) => (language.value = event.currentTarget.value === "zh" ? "zh" : "en")}
        >
          <option value="en">English</option>
          <option value="zh">中文</option>
        </select>
        <button
          class="icon keys-button"
          aria-label={t("app.keys")}
          title={t("app.keys")}
          onClick={() => (helpShown.value = true)}
        >
          ?
        </button>
        {token.value ? <button onClick={forgetToken}>{t("app.sign_out")}</button> : null}
      </div>
    </header>
  );
}

function Pulse(): JSX.Element {
  const { state } = connection.value;
  const word: Word =
    state === "lost" ? "feed.lost.short" : state === "refused" ? "feed.ended" : `feed.${state}`;
  return (
    <span class={`pulse ${state}`} role="status">
      <i aria-hidden="true" />
      {t(word)}
    </span>
  );
}

function Banner(): JSX.Element | null {
  const { state, detail, since } = connection.value;
  if (state === "lost")
    return (
      <p class="banner warn" role="alert">
        {t("feed.lost", { when: clock(since) })}
      </p>
    );
  if (state === "refused")
    return (
      <p class="banner error" role="alert">
        {t("feed.refused", { why: detail })}
      </p>
    );
  return null;
}

function TokenPage({ why }: { why: string }): JSX.Element {
  return (
    <main class="token-page">
      <form
        class="card"
        onSubmit={(event) => {
          event.preventDefault();
          const value = String(new FormData(event.currentTarget).get("token") ?? "").trim();
          if (value) useToken(value);
        }}
      >
        <h1>{t("token.title")}</h1>
        {why ? (
          <p class="bad" role="alert">
            {t("token.refused", { why })}
          </p>
        ) : null}
        <label class="field">
          <span>{t("token.label")}</span>
          <input name="token" type="password" autocomplete="off" required autoFocus />
        </label>
        <p class="quiet">{t("token.why")}</p>
        <button class="primary">{t("token.use")}</button>
      </form>
    </main>
  );
}

const keys: [string, Word][] = [
  ["1 2 3", "keys.go"],
  ["/", "keys.filter"],
  ["j k ↓ ↑", "keys.move"],
  ["Enter", "keys.open"],
  ["n", "keys.task"],
  ["p", "keys.replay"],
  ["← →", "keys.scrub"],
  ["a A d", "keys.decide"],
  ["?", "keys.help"],
  ["Esc", "keys.leave"],
];

function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  const close = () => (helpShown.value = false);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close}>
      <h2 id="help-title">{t("keys.title")}</h2>
      <dl>
        {keys.map(([key, word]) => (
          <div key={key}>
            <dt>
              {key.split(" ").map((each) => (
                <kbd key={each}>{each}</kbd>
              ))}
            </dt>
            <dd>{t(word)}</dd>
          </div>
        ))}
      </dl>
      <button class="primary" onClick={close}>
        {t("app.close")}
      </button>
    </dialog>
  );
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=range]), textarea, select") ||
      target.closest(".terminal") !== null)
  );
}

function focus(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.focus();
  return element !== null;
}

/** Answers the request that has waited longest. */
function decide(how: string): void {
  document
    .querySelector(".decision")
    ?.querySelector<HTMLButtonElement>(`button[data-decision="${how}"]`)
    ?.click();
}

export function listenForKeys(): void {
  window.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || helpShown.value)
      return;
    if (event.key === "Escape") return leave(event);
    if (isWriting(event.target)) return;
    const actions: Record<string, () => unknown> = {
      "1": () => go("#/"),
      "2": () => go("#/events"),
      "3": () => go("#/overview"),
      "/": () => focus("#filter"),
      n: () => focus("#task"),
      j: () => focus(".vlist"),
      k: () => focus(".vlist"),
      p: () => window.dispatchEvent(new Event("tidemark:replay")),
      a: () => decide("allow"),
      A: () => decide("allow_always"),
      d: () => decide("deny"),
      "?": () => (helpShown.value = true),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
}

function leave(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (target.closest(".terminal")) return;
  if (document.querySelector(".detail"))
    document.querySelector<HTMLElement>(".detail .icon")?.click();
  else if (isWriting(target)) target.blur();
  else if (place.value.view === "workspace") go("#/");
}
