import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { clock } from "../format";
import { t } from "../i18n";
import { advance, startAt, type ReplayPlace } from "./replay";
import type { SpaceFeed } from "./space_feed";

const speeds = [1, 4, 16, 64];

/** Every event of the stream on a line; dragging goes back in time, playing shows it again as it came. */
export function Timeline({ feed }: { feed: SpaceFeed }): JSX.Element {
  void feed.version.value;
  const [playing, play] = useState(false);
  const [speed, setSpeed] = useState(4);
  const [skip, setSkip] = useState(true);
  const at = feed.at.value;
  const loaded = feed.events[0]?.offset ?? 1; // what is before is read when somebody looks at it
  const first = Math.min(loaded, Math.max(1, feed.first));
  const head = Math.max(first, feed.head);
  const here = at ?? head;

  useEffect(() => {
    if (!playing) return;
    let place: ReplayPlace | null = null;
    let before = performance.now();
    let frame = 0;
    const step = (time: number) => {
      if (feed.reading.peek()) {
        place = null; // events come in before it
        before = time;
        frame = requestAnimationFrame(step);
        return;
      }
      place ??= startAt(feed.events, feed.at.peek() ?? 0);
      place = advance(feed.events, place, Math.min(time - before, 250), speed, skip);
      before = time;
      const event = feed.events[place.index];
      if (!event || place.index >= feed.events.length - 1) {
        feed.look(null);
        play(false);
        return;
      }
      if (event.offset !== feed.at.peek()) feed.look(event.offset);
      frame = requestAnimationFrame(step);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing, speed, skip, feed]);

  const toggle = () => {
    if (!playing && feed.at.peek() === null) feed.look(loaded);
    play(!playing);
  };
  const toggleNow = useRef(toggle);
  toggleNow.current = toggle;
  useEffect(() => {
    const onReplay = () => toggleNow.current();
    window.addEventListener("tidemark:replay", onReplay);
    return () => window.removeEventListener("tidemark:replay", onReplay);
  }, []);

  const time = feed.events[here - loaded]?.time;
  const range = first > 1 ? `${first}–${head}` : String(head);
  return (
    <div class={`timeline ${at === null ? "" : "past"}`}>
      <button
        class="icon"
        onClick={toggle}
        aria-label={t(playing ? "time.pause" : "time.play")}
        title={t(playing ? "time.pause" : "time.play")}
      >
        {playing ? "❚❚" : "▶"}
      </button>
      <div class="track">
        <Ticks feed={feed} first={first} head={head} />
        <input
          type="range"
          min={first}
          max={head}
          value={here}
          aria-label={t("time.label", { at: here, head: range })}
          aria-valuetext={t("time.at", { at: here, head: range })}
          onInput={(event) => {
            play(false);
            feed.look(Number(event.currentTarget.value));
          }}
        />
      </div>
      <span
        class="when num"
        aria-hidden="true"
        title={first > 1 ? t("space.trimmed", { first }) : undefined}
      >
        {here}
        <span class="quiet"> / {range}</span>{" "}
        {time ? <span class="quiet">{clock(time)}</span> : null}
      </span>
      <select
        aria-label={t("time.speed")}
        value={speed}
        onChange={(event) => setSpeed(Number(event.currentTarget.value))}
      >
        {speeds.map((each) => (
          <option key={each} value={each}>
            {each} ×
          </option>
        ))}
      </select>
      <label class="check">
        <input
          type="checkbox"
          checked={skip}
          onChange={(event) => setSkip(event.currentTarget.checked)}
        />
        {t("time.skip")}
      </label>
      {at !== null ? (
        <button
          class="primary"
          onClick={() => {
            play(false);
            feed.look(null);
          }}
        >
          {t("time.now")}
        </button>
      ) : null}
    </div>
  );
}

/** From where to where each turn goes, in the colour of how it ended. */
function Ticks({
  feed,
  first,
  head,
}: {
  feed: SpaceFeed;
  first: number;
  head: number;
}): JSX.Element {
  const turns = feed.live.turns.filter((turn) => turn.id);
  const every = Math.max(1, Math.ceil(turns.length / 300));
  const share = (offset: number) => (100 * (offset - first)) / Math.max(1, head - first);
  return (
    <div class="ticks" aria-hidden="true">
      {turns
        .filter((_, index) => index % every === 0)
        .map((turn) => (
          <i
            key={turn.id}
            class={turn.outcome || "running"}
            style={{
              left: `${share(Math.max(first, turn.offset))}%`,
              right: `${100 - share(turn.end || head)}%`,
            }}
          />
        ))}
    </div>
  );
}
