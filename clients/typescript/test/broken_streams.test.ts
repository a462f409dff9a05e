// What networks, proxies and servers in trouble do to a stream: by a stand-in for `fetch`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Tidemark, TidemarkError, type Event } from "../src/index.js";
import { errorOf } from "../src/errors.js";
import { delayAfter } from "../src/waiting.js";

const total = 12;

function envelope(offset: number, epoch = 1): string {
  const event = { workspace: "w", epoch, offset, position: offset, time: "2026-01-01T00:00:00.000Z", type: "fault" };
  const data = { component: "test", message: `müde ${offset}` };
  return `id: ${epoch}-${offset}\nevent: fault\ndata: ${JSON.stringify({ ...event, data })}\n\n`;
}

function hello(after: number, epoch = 1): string {
  const data = { epoch, head: total, first: 1, resumed_after: after };
  return `id: ${epoch}-${after}\nevent: hello\nretry: 1\ndata: ${JSON.stringify(data)}\n\n`;
}

const end = `id: 1-${total}\nevent: end\ndata: {"epoch":1,"head":${total}}\n\n`;

/** What a sound server sends to who has everything up to `after`. */
function stream(after: number): string {
  const offsets = Array.from({ length: total - after }, (_, i) => after + 1 + i);
  return hello(after) + offsets.map((offset) => envelope(offset)).join("") + end;
}

function answer(text: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { "Content-Type": "text/event-stream", ...headers } });
}

/** A body that breaks after these bytes instead of ending. */
function breaking(bytes: Uint8Array): Response {
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (bytes.length === 0) return controller.error(new TypeError("terminated"));
      controller.enqueue(bytes);
      bytes = new Uint8Array();
    },
  });
  return new Response(body, { status: 200, headers: { "Content-Type": "text/event-stream" } });
}

type Script = (after: number, call: number) => Response;

/** The offsets that a reader is given while its connections go as scripted. */
async function read(script: Script, options: { retryFor?: number; gap?: "value" } = {}) {
  let calls = 0;
  const scripted: typeof fetch = async (input) => {
    const after = new URL(String(input)).searchParams.get("after") ?? "0";
    return script(Number(after.split("-").at(-1)), calls++);
  };
  const client = new Tidemark({ url: "http://stand-in", fetch: scripted });
  const seen: number[] = [];
  for await (const event of client.workspace("w").events(options as object)) seen.push((event as Event).offset);
  return { seen, calls };
}

const all = Array.from({ length: total }, (_, i) => i + 1);

test("a stream may break anywhere", async () => {
  const bytes = new TextEncoder().encode(stream(0));
  const readCutBehind = async (cut: number) => {
    const { seen } = await read((after, call) => (call === 0 ? breaking(bytes.slice(0, cut)) : answer(stream(after))));
    assert.deepEqual(seen, all, `cut behind byte ${cut}`);
  };
  const cuts = Array.from({ length: Math.ceil(bytes.length / 5) }, (_, i) => 5 * i);
  await Promise.all(cuts.map(readCutBehind));
});

test("a stream that comes byte by byte is read as one that comes whole", async () => {
  const bytes = new TextEncoder().encode(stream(0));
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at === bytes.length) controller.close();
      else controller.enqueue(bytes.slice(at, ++at));
    },
  });
  const { seen } = await read(() => new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
  assert.deepEqual(seen, all);
});

test("events that come again are given once, and one that is missing is fetched", async () => {
  const twice = hello(0) + envelope(1) + envelope(2) + envelope(2) + envelope(1) + envelope(3);
  const hole = hello(3) + envelope(4) + envelope(6);
  const { seen } = await read((after, call) => answer(call === 0 ? twice : call === 1 ? hole : stream(after)));
  assert.deepEqual(seen, all);
});

test("a stream that begins elsewhere without a word is not believed", async () => {
  const { seen } = await read((after, call) =>
    call === 0 ? breaking(new TextEncoder().encode(hello(0) + envelope(1) + envelope(2)))
      : call === 1 ? answer(hello(7) + envelope(8))
      : answer(stream(after)));
  assert.deepEqual(seen, all);
});

test("holes that stay end the reading, and nothing of another epoch gets through", async () => {
  const failsAt = (text: string) =>
    assert.rejects(read(() => answer(hello(0) + envelope(1) + text), { retryFor: 20 }), (failure) => {
      assert.ok(failure instanceof TidemarkError);
      assert.equal(failure.code, "protocol");
      return true;
    });
  await failsAt(envelope(3));
  await failsAt(envelope(2, 5));
  await failsAt("event: fault\ndata: {\n\n");
});

test("answers of servers and proxies in trouble are tried again", async () => {
  const { seen, calls } = await read((after, call) =>
    call === 0 ? answer("<html>bad gateway</html>", 502)
      : call === 1 ? answer(JSON.stringify({ code: "unavailable", detail: "later", status: 503 }), 503, { "Retry-After": "0" })
      : call === 2 ? answer(`event: overload\nretry: 1\ndata: {"reason":"readers"}\n\n`)
      : call === 3 ? answer(hello(after))
      : answer(stream(after)));
  assert.deepEqual([seen, calls], [all, 5]);
});

test("a failure that the stream itself tells ends the reading, and 204 means that all was read", async () => {
  const problem = { type: "urn:x", title: "x", status: 401, code: "unauthorized", detail: "revoked" };
  const told = hello(0) + envelope(1) + `event: error\ndata: ${JSON.stringify(problem)}\n\n`;
  await assert.rejects(read(() => answer(told)), /revoked \(unauthorized\)/);
  const { seen, calls } = await read((after, call) =>
    call === 0 ? answer(stream(0).replace(end, "")) : new Response(null, { status: 204 }));
  assert.deepEqual([seen, calls], [all, 2]);
});

test("waits double, end at a bound, are spread, and are never shorter than the server asked", () => {
  assert.equal(delayAfter(0, 500, 0, 0), 500);
  assert.equal(delayAfter(3, 500, 0, 0), 4000);
  assert.equal(delayAfter(50, 500, 0, 0), 30_000);
  assert.equal(delayAfter(0, 500, 0, 1), 750);
  assert.equal(delayAfter(0, 500, 60_000, 0), 60_000);
  assert.equal(delayAfter(0, 45_000, 0, 0), 45_000);
});

test("what the server or a proxy asks to wait is understood as seconds and as a date", async () => {
  const asked = async (wait: string) =>
    (await errorOf(new Response("", { status: 503, headers: { "Retry-After": wait } }))).retryAfter;
  assert.equal(await asked("7"), 7000);
  assert.equal(await asked(new Date(0).toUTCString()), 0);
  assert.equal(await asked("soon"), undefined);
});
