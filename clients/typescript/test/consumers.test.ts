import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { TidemarkError, verifyWebhook } from "../src/index.js";
import { TestServer } from "./server.js";
import { completes, readUntil } from "./support.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());
afterEach(() => assert.deepEqual(server.schemas.violations, []));

test("a consumer goes on behind what it acknowledged", async () => {
  const workspace = server.client().workspace("acknowledged");
  const { turn } = await workspace.submit("WORDS 20");
  const whole = await readUntil(workspace.events(), server, completes(turn));
  assert.equal((await workspace.putConsumer("audit")).offset, 0);
  const middle = whole[Math.floor(whole.length / 2)]!;
  assert.equal((await workspace.acknowledge("audit", middle)).offset, middle.offset);
  assert.equal((await workspace.acknowledge("audit", 1)).offset, middle.offset);
  await server.kill();
  await server.launch();
  const again = server.client().workspace("acknowledged");
  const rest = await readUntil(again.events({ consumer: "audit" }), server, completes(turn));
  assert.deepEqual(rest, whole.slice(middle.offset));
  const { lag, head } = await again.consumer("audit");
  assert.equal(lag, head - middle.offset);
  await assert.rejects(again.acknowledge("audit", 1_000_000), (why: TidemarkError) => why.code === "ahead");
  await again.deleteConsumer("audit");
  assert.deepEqual(await again.consumers(), []);
});

test("a signature holds for its body, secret and time only", async () => {
  const body = '{"a":1}';
  const signature = "t=1700000000,v1=e13ca661150ed628f4ae657a91356a99ce1d89519ed99c20a90f567c6f061275";
  const secret = "it is a secret";
  const now = 1_700_000_000;
  assert.equal(await verifyWebhook(body, signature, secret, { now }), true);
  assert.equal(await verifyWebhook(new TextEncoder().encode(body), signature, secret, { now: now + 300 }), true);
  assert.equal(await verifyWebhook(body, signature, secret, { now: now + 301 }), false);
  assert.equal(await verifyWebhook(body, signature, secret, { now: now - 301 }), false);
  assert.equal(await verifyWebhook('{"a":2}', signature, secret, { now }), false);
  assert.equal(await verifyWebhook(body, signature, "another", { now }), false);
  assert.equal(await verifyWebhook(body, signature.replace("t=17", "t=18"), secret, { now: 1_800_000_000 }), false);
  for (const malformed of ["", "t=1,v1=", "v1=00", `${signature}0`, `t=-1,v1=${"0".repeat(64)}`])
    assert.equal(await verifyWebhook(body, malformed, secret, { now }), false);
});
