import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { TidemarkError, type PendingPermission, type Workspace } from "../src/index.js";
import { TestServer } from "./server.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());
afterEach(() => assert.deepEqual(server.schemas.violations, []));

/** The request of the turn that waits for a person. */
async function waiting(workspace: Workspace, turn: string): Promise<PendingPermission> {
  for await (const event of workspace.events({ turn, types: ["permission.requested", "question.requested"] })) {
    server.schemas.check("Event", event);
    break;
  }
  return (await workspace.permissions()).pending[0]!;
}

test("what a person allows for good is not asked for again until the rule is removed", async () => {
  const client = server.client();
  const workspace = client.workspace("always");
  let { turn } = await workspace.submit("ASK NotebookEdit");
  const request = await waiting(workspace, turn);
  assert.deepEqual([request.kind, request.tool, request.turn], ["permission", "NotebookEdit", turn]);
  assert.deepEqual(await client.permissions(), [request]);
  const decided = await workspace.decide(request.permission, "allow_always");
  assert.equal(decided.decision, "allow");
  assert.match((await workspace.result(turn)).text ?? "", /Allowed/);
  await assert.rejects(workspace.decide(request.permission, "deny"), (failure) => {
    assert.ok(failure instanceof TidemarkError);
    assert.deepEqual([failure.status, failure.code], [409, "permission_resolved"]);
    return true;
  });
  const again = await workspace.submit("ASK NotebookEdit");
  assert.match((await workspace.result(again.turn)).text ?? "", /Allowed/);
  const { rules } = await workspace.permissions();
  assert.deepEqual(rules.map((rule) => rule.rule), [decided.rule]);
  await workspace.removeRule(decided.rule!);
  ({ turn } = await workspace.submit("ASK NotebookEdit"));
  await workspace.decide((await waiting(workspace, turn)).permission, "deny", { message: "no more" });
  assert.match((await workspace.result(turn)).text ?? "", /Refused/);
});

test("a question is answered", async () => {
  const workspace = server.client().workspace("question");
  const { turn } = await workspace.submit("QUESTION Which colour?");
  const request = await waiting(workspace, turn);
  assert.equal(request.kind, "question");
  await workspace.decide(request.permission, "allow", { answers: { "Which colour?": "blue" } });
  assert.match((await workspace.result(turn)).text ?? "", /Chosen: blue\./);
});
