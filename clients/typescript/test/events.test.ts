import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { cursorOf, GapError, type Event } from "../src/index.js";
import { TestServer } from "./server.js";
import { assertDense, completes, readUntil } from "./support.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());
afterEach(() => assert.deepEqual(server.schemas.violations, []));

test("a reader sees offsets 1 to N once each, although the server is killed amid a turn", async () => {
  const workspace = server.client().workspace("killed");
  const long = await workspace.submit("WORDS 100000 5");
  const seen: Event[] = [];
  let killed = false;
  let last: string | undefined;
  for await (const event of workspace.events()) {
    server.schemas.check("Event", event);
    seen.push(event);
    if (event.type === "item.delta" && seen.length >= 40 && !killed) {
      killed = true;
      await server.kill();
      await server.launch();
      last = (await workspace.submit("ECHO after the restart")).turn;
    }
    if (last !== undefined && completes(last)(event)) break;
  }
  assertDense(seen);
  const ends = seen.filter((event) => event.type === "turn.completed");
  assert.deepEqual(ends.map((event) => [event.turn, event.data.outcome]), [
    [long.turn, "interrupted"],
    [last, "succeeded"],
  ]);
  const again = await readUntil(workspace.events(), server, completes(last!));
  assert.deepEqual(again.map((event) => event.hash), seen.map((event) => event.hash));
  assert.equal((await workspace.verify()).ok, true);
});

test("a reader goes on behind the cursor that it gives", async () => {
  const workspace = server.client().workspace("resumed");
  const { turn } = await workspace.submit("WORDS 20");
  const whole = await readUntil(workspace.events(), server, completes(turn));
  const middle = whole[Math.floor(whole.length / 2)]!;
  for (const cursor of [cursorOf(middle), middle.offset]) {
    const rest = await readUntil(workspace.events({ after: cursor }), server, completes(turn));
    assert.deepEqual(rest, whole.slice(middle.offset));
  }
});

test("a reader that takes its time misses nothing", async () => {
  const workspace = server.client().workspace("slow");
  const { turn } = await workspace.submit("WORDS 4000\nHUGE 3000000\nWORDS 4000");
  const seen: Event[] = [];
  for await (const event of workspace.events()) {
    if (seen.length === 0) await workspace.result(turn); // megabytes pile up meanwhile
    seen.push(event);
    if (completes(turn)(event)) break;
  }
  assertDense(seen);
  assert.ok(seen.length > 8000, `${seen.length} events`);
});

test("types, turns and raw lines are chosen", async () => {
  const workspace = server.client().workspace("chosen");
  const first = await workspace.submit("ECHO one");
  const second = await workspace.submit("ECHO two");
  await workspace.result(second.turn);
  const items = await readUntil(
    workspace.events({ types: ["item.*", "turn.completed"], turn: second.turn, raw: true }),
    server,
    completes(second.turn),
  );
  assert.ok(items.every((event) => event.turn === second.turn));
  assert.ok(items.some((event) => event.type === "item.completed"));
  assert.ok(items.some((event) => event.raw !== undefined));
  assert.ok(!items.some((event) => event.turn === first.turn));
});

test("aborting ends the iteration, and a break ends the connection", async () => {
  const workspace = server.client().workspace("aborted");
  const { turn } = await workspace.submit("WORDS 100000 5");
  const enough = new AbortController();
  let seen = 0;
  for await (const _ of workspace.events({ signal: enough.signal })) if (++seen === 10) enough.abort();
  assert.equal(seen, 10);
  for await (const _ of workspace.events()) break;
  const idle = new AbortController();
  const waiting = workspace.events({ types: ["fault"], signal: idle.signal }).next();
  idle.abort();
  assert.deepEqual(await waiting, { value: undefined, done: true });
  await workspace.cancel(turn);
});

test("a place that is not there is told as an error, or as a value behind which the reading goes on", async () => {
  const workspace = server.client().workspace("gaps");
  const { turn } = await workspace.submit("ECHO one");
  await workspace.result(turn);
  await assert.rejects(workspace.events({ after: 100_000 }).next(), (failure) => {
    assert.ok(failure instanceof GapError);
    assert.deepEqual([failure.code, failure.gap.requested], ["ahead", "100000"]);
    return true;
  });
  const other = workspace.events({ after: "9-3", gap: "value" });
  const gap = (await other.next()).value;
  assert.ok(gap?.type === "gap");
  server.schemas.check("GapFrame", gap);
  assert.deepEqual([gap.reason, gap.first, gap.requested], ["epoch", 1, "9-3"]);
  const seen: Event[] = [];
  for await (const event of other) {
    assert.ok(event.type !== "gap");
    seen.push(event);
    if (completes(turn)(event)) break;
  }
  assertDense(seen);
});

test("a cursor that is none is refused before anything is sent", async () => {
  const client = server.client({ fetch: () => assert.fail("it was sent") });
  await assert.rejects(async () => client.workspace("any").events({ after: "latest" }).next(), /a cursor is/);
});
