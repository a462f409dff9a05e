import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { GapError, type Event } from "../src/index.js";
import { TestServer } from "./server.js";
import { completes } from "./support.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());
afterEach(() => assert.deepEqual(server.schemas.violations, []));

async function all(events: AsyncIterable<Event>): Promise<Event[]> {
  const seen: Event[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

/** One turn a workspace. */
async function runTurns(prefix: string, prompts: string[]): Promise<string[]> {
  const turns: string[] = [];
  for (const [i, prompt] of prompts.entries()) {
    const workspace = server.client().workspace(`${prefix}-${i}`);
    const { turn } = await workspace.submit(prompt);
    await workspace.result(turn);
    turns.push(turn);
  }
  return turns;
}

test("a reader of all workspaces misses and repeats nothing, although the server is killed", async () => {
  const [first] = await runTurns("followed", ["ECHO one"]);
  const seen: Event[] = [];
  let last: string | undefined;
  for await (const event of server.client().events()) {
    server.schemas.check("Event", event);
    seen.push(event);
    if (last === undefined && completes(first!)(event)) {
      await server.kill();
      await server.launch();
      last = (await server.client().workspace("followed-1").submit("ECHO two")).turn;
    }
    if (last !== undefined && completes(last)(event)) break;
  }
  assert.deepEqual(seen.map((event) => event.position), seen.map((_, i) => i + 1));
  const behind = server.client().events({ after: seen[4]!.position, types: ["turn.completed"], turn: last! });
  assert.deepEqual((await behind.next()).value, seen.at(-1));
  await behind.return();
});

test("a search gives what fits, page by page, in both directions", async () => {
  const turns = await runTurns("searched", ["ECHO one", "ECHO two", "FAIL", "ECHO three"]);
  const workspaces = turns.map((_, i) => `searched-${i}`);
  const client = server.client();
  const ends = await all(client.search({ workspaces, types: ["turn.completed"], pageSize: 1 }));
  assert.deepEqual(ends.map((event) => event.turn), turns);
  const back = await all(client.search({ workspaces, types: ["turn.completed"], pageSize: 3, newestFirst: true }));
  assert.deepEqual(back, [...ends].reverse());
  const found = await all(client.search({ workspaces, types: ["turn.queued"], text: "ECHO two" }));
  assert.deepEqual(found.map((event) => event.turn), [turns[1]]);
  const none = await all(client.search({ workspaces, types: ["turn.completed"], until: new Date(0) }));
  assert.deepEqual(none, []);
  const rest = await all(client.search({ workspaces, types: ["turn.completed"], after: ends[1]!.position }));
  assert.deepEqual(rest, ends.slice(2));
});

test("a place beyond the log is told", async () => {
  await runTurns("beyond", ["ECHO one"]);
  await assert.rejects(server.client().events({ after: 1e9 }).next(), (failure) => {
    assert.ok(failure instanceof GapError);
    assert.deepEqual([failure.gap.reason, failure.gap.requested], ["ahead", "1000000000"]);
    return true;
  });
  const events = server.client().events({ after: 1e9, gap: "value" });
  const gap = (await events.next()).value;
  assert.ok(gap?.type === "gap");
  const { turn } = await server.client().workspace("beyond-0").submit("ECHO two");
  const next = (await events.next()).value;
  assert.ok(next !== undefined && next.type !== "gap" && next.position > gap.head);
  await events.return();
  await server.client().workspace("beyond-0").result(turn);
});
