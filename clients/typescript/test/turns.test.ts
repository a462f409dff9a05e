import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { TidemarkError, type Turn } from "../src/index.js";
import { TestServer } from "./server.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());
afterEach(() => assert.deepEqual(server.schemas.violations, []));

const failsWith = (code: string, status: number) => (failure: unknown) => {
  assert.ok(failure instanceof TidemarkError, String(failure));
  assert.deepEqual([failure.code, failure.status], [code, status]);
  assert.ok(failure.detail.length > 0);
  return true;
};

test("a prompt is submitted and its result waited for", async () => {
  const client = server.client();
  const workspace = client.workspace("simple");
  const accepted = await workspace.submit("ECHO good morning", { source: "test", metadata: { ticket: 7 } });
  assert.deepEqual([accepted.place, accepted.repeated], [0, false]);
  const turn = await workspace.result(accepted.turn);
  assert.equal(turn.status, "succeeded");
  assert.match(turn.text ?? "", /good morning/);
  assert.deepEqual(turn.metadata, { ticket: 7 });
  assert.deepEqual(await workspace.result(accepted.turn), turn); // of one that is over
  assert.equal((await client.health()).status, "healthy");
  assert.equal((await client.ready()).status, "ready");
  assert.deepEqual((await client.workspaces()).map((each) => each.id), ["simple"]);
  assert.equal((await workspace.info()).id, "simple");
});

test("a wrong token is refused with what a program needs to know, and not tried again", async () => {
  let calls = 0;
  const counting: typeof fetch = (...call) => (++calls, fetch(...call));
  const stranger = server.client({ token: "wrong", fetch: counting }).workspace("simple");
  await assert.rejects(stranger.submit("ECHO no"), failsWith("unauthorized", 401));
  await assert.rejects(stranger.events().next(), failsWith("unauthorized", 401));
  assert.equal(calls, 2);
});

test("what is not there is a not_found, and a malformed id an invalid_argument", async () => {
  const client = server.client();
  await assert.rejects(client.workspace("nowhere").turn("0193b6c0-0000-7000-8000-000000000000"), failsWith("not_found", 404));
  await assert.rejects(client.workspace("nowhere").events().next(), failsWith("not_found", 404));
  await assert.rejects(client.workspace("not ok!").submit("ECHO no"), failsWith("invalid_argument", 400));
  await assert.rejects(client.workspace("simple").submit(""), failsWith("invalid_argument", 400));
});

test("a key makes a repeated submit the same turn, and another body with it is refused", async () => {
  const workspace = server.client().workspace("idempotent");
  const first = await workspace.submit("ECHO once", { idempotencyKey: "order-7" });
  const again = await workspace.submit("ECHO once", { idempotencyKey: "order-7" });
  assert.deepEqual([again.turn, again.repeated], [first.turn, true]);
  await assert.rejects(workspace.submit("ECHO other", { idempotencyKey: "order-7" }), failsWith("conflict", 422));
});

test("a submit whose answer is lost is tried again and makes one turn", async () => {
  let lost = 0;
  const lossy: typeof fetch = async (...call) => {
    const response = await fetch(...call);
    if (lost++ > 1) return response;
    await response.arrayBuffer();
    throw new TypeError("the connection broke");
  };
  const workspace = server.client({ fetch: lossy }).workspace("lossy");
  const accepted = await workspace.submit("ECHO once");
  assert.equal(accepted.repeated, true);
  const turns: Turn[] = [];
  for await (const turn of workspace.turns()) turns.push(turn);
  assert.deepEqual(turns.map((turn) => turn.turn), [accepted.turn]);
});

test("running and waiting turns are cancelled, each exactly", async () => {
  const workspace = server.client().workspace("cancelled");
  const runs = await workspace.submit("WORDS 100000 5");
  const waits = await workspace.submit("ECHO never");
  const stays = await workspace.submit("ECHO stays");
  assert.deepEqual(await workspace.cancel(waits.turn), { turn: waits.turn, cancelled: true });
  assert.deepEqual(await workspace.cancel(runs.turn), { turn: runs.turn, cancelled: true });
  assert.equal((await workspace.result(runs.turn)).status, "cancelled");
  assert.equal((await workspace.result(waits.turn)).status, "cancelled");
  assert.equal((await workspace.result(stays.turn)).status, "succeeded");
  assert.deepEqual(await workspace.cancel(runs.turn), { turn: runs.turn, cancelled: false });
});

test("a turn is interrupted in-band", async () => {
  const workspace = server.client().workspace("interrupted");
  const { turn } = await workspace.submit("WORDS 100000 5");
  for await (const event of workspace.events({ turn, types: ["item.delta"] })) {
    assert.equal(event.turn, turn);
    break;
  }
  assert.equal((await workspace.interrupt(turn)).cancelled, true);
  assert.equal((await workspace.result(turn)).status, "cancelled");
});

test("all turns are listed, newest first, across pages", async () => {
  const workspace = server.client().workspace("pages");
  const submitted: string[] = [];
  for (let i = 0; i < 5; ++i) submitted.push((await workspace.submit(`ECHO ${i}`)).turn);
  await workspace.result(submitted[4]!);
  const listed: string[] = [];
  for await (const turn of workspace.turns({ pageSize: 2 })) listed.push(turn.turn);
  assert.deepEqual(listed, submitted.reverse());
});

test("waiting for a result can be given up", async () => {
  const workspace = server.client().workspace("given-up");
  const { turn } = await workspace.submit("WORDS 100000 5");
  const giveUp = new AbortController();
  const waiting = workspace.result(turn, { signal: giveUp.signal });
  giveUp.abort(new Error("enough"));
  await assert.rejects(waiting, /enough/);
  await workspace.cancel(turn);
});

test("a server that is not there is unreachable, once the time for it is up", async () => {
  const nobody = server.client({ retryFor: 1, fetch: () => Promise.reject(new TypeError("fetch failed")) });
  await assert.rejects(nobody.health(), failsWith("unreachable", 0));
  const events = nobody.workspace("any").events({ retryFor: 1 });
  await assert.rejects(events.next(), failsWith("unreachable", 0));
});
