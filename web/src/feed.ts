import { signal } from "@preact/signals";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { authorization, refusal } from "./api";

export type FeedState = "connecting" | "live" | "lost" | "ended" | "refused";

export interface FeedFrame {
  id: string;
  event: string;
  data: string;
}

/** Other frames speak of the stream itself: hello, gap, progress, end, error, overload. */
export function isEvent(frame: FeedFrame): boolean {
  return frame.event.includes(".") || frame.event === "fault";
}

interface FeedOptions {
  path: string;
  /** The first cursor; after that, the last id that was seen. */
  after?: string;
  onFrame: (frame: FeedFrame) => void;
  onState: (state: FeedState, detail: string) => void;
}

/** The server is never silent for longer: it sends a heartbeat every 15 s. */
const silenceLimit = 40_000;
const slowest = 15_000;

/** How the connections of the page fare; what the banner shows. */
export const connection = signal<{ state: FeedState; detail: string; since: number }>({
  state: "connecting",
  detail: "",
  since: Date.now(),
});

/**
 * Follows a stream of server-sent events over as many connections as it takes. `EventSource` cannot
 * send a token, so this reads the stream itself: each new connection names the last id that was
 * seen, so nothing is missed and nothing comes twice. Returns what ends it.
 */
export function follow(options: FeedOptions): () => void {
  const stop = new AbortController();
  let lastId = options.after ?? "";
  let delay = 500;

  const tell = (state: FeedState, detail = "") => {
    if (stop.signal.aborted) return;
    if (connection.value.state !== state) connection.value = { state, detail, since: Date.now() };
    options.onState(state, detail);
  };

  const connect = async (): Promise<"again" | "end"> => {
    const attempt = new AbortController();
    const abort = () => attempt.abort();
    stop.signal.addEventListener("abort", abort);
    window.addEventListener("offline", abort);
    let watch = setTimeout(abort, silenceLimit);
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream", ...authorization() };
      if (lastId) headers["Last-Event-ID"] = lastId;
      const answer = await fetch(options.path, {
        headers,
        signal: attempt.signal,
        cache: "no-store",
      });
      if (answer.status === 204) return "end";
      if (!answer.ok || !answer.body) {
        const why = await refusal(answer);
        if (why.status >= 500 || why.status === 429) throw why;
        tell("refused", why.message);
        return "end";
      }
      delay = 500;
      tell("live");
      let ended = false;
      const parser = createParser({
        onEvent: (message: EventSourceMessage) => {
          if (message.event === "end") ended = true;
          options.onFrame({
            id: message.id ?? "",
            event: message.event ?? "message",
            data: message.data,
          });
          if (message.id) lastId = message.id;
        },
        onRetry: (interval) => {
          delay = Math.min(interval, slowest);
        },
      });
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(watch);
        watch = setTimeout(abort, silenceLimit);
        parser.feed(value);
      }
      return ended ? "end" : "again";
    } finally {
      clearTimeout(watch);
      stop.signal.removeEventListener("abort", abort);
      window.removeEventListener("offline", abort);
    }
  };

  const run = async () => {
    while (!stop.signal.aborted) {
      let detail = "";
      try {
        if ((await connect()) === "end") {
          if (!stop.signal.aborted && connection.value.state === "live") tell("ended");
          return;
        }
      } catch (failure) {
        detail = failure instanceof Error ? failure.message : String(failure);
      }
      if (stop.signal.aborted) return;
      tell("lost", detail);
      await wait(delay + Math.random() * 250, stop.signal);
      delay = Math.min(delay * 2, slowest);
    }
  };
  void run();
  return () => stop.abort();
}

/** Waits, but no longer than until the network is back. */
function wait(ms: number, stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      stopped.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    window.addEventListener("online", done);
    stopped.addEventListener("abort", done);
  });
}
