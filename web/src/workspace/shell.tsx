import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import "@xterm/xterm/css/xterm.css";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, token } from "../api";
import { t } from "../i18n";
import { isDark } from "../preferences";
import { fields, text } from "../values";
import { withSheets } from "./style_sheets";

type Status = { state: "connecting" | "open" } | { state: "closed"; why: string };

/** The address of a shell's WebSocket; a page cannot send the token in a header there. */
function socketAddress(id: string): string {
  const url = new URL(`/api/v1/shells/${encodeURIComponent(id)}/ws`, location.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  if (token.value) url.searchParams.set("token", token.value);
  return url.href;
}

function colours(): Record<string, string> {
  const style = getComputedStyle(document.documentElement);
  const of = (name: string) => style.getPropertyValue(name).trim();
  return {
    background: of("--code-back"),
    foreground: of("--text"),
    cursor: of("--accent"),
    selectionBackground: of("--select"),
  };
}

export function Shell({ workspace }: { workspace: string }): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const terminal = useRef<Terminal | null>(null);
  const [status, setStatus] = useState<Status>({ state: "connecting" });
  const [run, setRun] = useState(0);

  useEffect(() => {
    if (!place.current) return;
    let left = false;
    let socket: WebSocket | null = null;
    let ending = "";
    const term = new Terminal({
      allowProposedApi: false,
      cursorBlink: true,
      fontFamily: "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace",
      fontSize: 13,
      screenReaderMode: true,
      scrollback: 10_000,
      theme: colours(),
    });
    const fit = new FitAddon();
    term.loadAddon(fit);
    const element = place.current;
    withSheets(() => term.open(element));
    fit.fit();
    terminal.current = term;
    const send = (message: object) => {
      if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
    };
    term.onData((data) => send({ type: "input", data }));
    term.onResize(({ rows, cols }) => send({ type: "resize", rows, cols }));
    const sizes = new ResizeObserver(() => fit.fit());
    sizes.observe(place.current);

    const open = async () => {
      setStatus({ state: "connecting" });
      const { rows, cols } = term;
      const made = await call<{ id: string }>("/api/v1/shells", {
        method: "POST",
        body: { workspace_id: workspace, rows, cols },
      });
      if (left) {
        await call(`/api/v1/shells/${encodeURIComponent(made.id)}`, { method: "DELETE" });
        return;
      }
      socket = new WebSocket(socketAddress(made.id));
      socket.onmessage = (message) => {
        const frame = fields(JSON.parse(String(message.data)));
        if (frame.type === "output") term.write(text(frame.data));
        else if (frame.type === "ready") {
          setStatus({ state: "open" });
          term.focus();
        } else if (frame.type === "exit")
          ending = [text(frame.reason), frame.code ?? frame.signal ?? ""].join(" ").trim();
        else if (frame.type === "error") term.write(`\r\n${text(frame.message)}\r\n`);
      };
      socket.onclose = (event) => {
        if (!left) setStatus({ state: "closed", why: ending || event.reason || t("shell.lost") });
      };
    };
    open().catch((reason: unknown) => {
      if (!left)
        setStatus({
          state: "closed",
          why: reason instanceof Error ? reason.message : String(reason),
        });
    });
    return () => {
      left = true;
      sizes.disconnect();
      socket?.close();
      term.dispose();
      terminal.current = null;
    };
  }, [workspace, run]);

  const dark = isDark.value;
  useEffect(() => {
    if (terminal.current) terminal.current.options.theme = colours();
  }, [dark]);

  return (
    <section class="shell" aria-label={t("space.shell")}>
      <p class="quiet shell-note" role="status">
        {status.state === "closed"
          ? t("shell.closed", { why: status.why })
          : status.state === "connecting"
            ? t("shell.connecting")
            : t("shell.about")}
        {status.state === "closed" ? (
          <button onClick={() => setRun(run + 1)}>{t("shell.open")}</button>
        ) : null}
      </p>
      <div class="terminal" ref={place} />
    </section>
  );
}
