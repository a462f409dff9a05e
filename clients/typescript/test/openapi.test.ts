// Real answers of every call against docs/openapi.yaml, as the server serves it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { checkedFetch } from "./schemas.js";
import { TestServer } from "./server.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());

async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const response = await checkedFetch(server.schemas, fetch)(server.url + path, {
    method,
    headers: { Authorization: `Bearer ${server.token}`, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.text() };
}

const of = (path: string) => `/api/v1/workspaces/described${path}`;

test("every call answers as it is described", async () => {
  const submitted = await call("POST", of("/turns"), { prompt: "TOOL echo hello\nWORDS 5", env: { A: "value-of-a" } });
  const { turn } = JSON.parse(submitted.body) as { turn: string };
  await server.client().workspace("described").result(turn);
  const opened = await call("POST", "/api/v1/shells", { workspace_id: "described", argv: ["/bin/sh"] });
  const shell = (JSON.parse(opened.body) as { id: string }).id;
  const pending = { ids: ["0193b6c0-0000-7000-8000-000000000000"] };
  const unknown = "/turns/0193b6c0-0000-7000-8000-000000000000";
  const calls: [string, string, number, unknown?][] = [
    ["GET", "/health", 200],
    ["GET", "/ready", 200],
    ["GET", "/metrics", 200],
    ["GET", "/openapi.json", 200],
    ["GET", of("/turns?limit=1"), 200],
    ["GET", of("/turns?limit=none"), 400],
    ["GET", of(`/turns/${turn}`), 200],
    ["GET", of(unknown), 404],
    ["DELETE", of(`/turns/${turn}`), 200],
    ["POST", of(`/turns/${turn}/interrupt`), 200],
    ["GET", of("/events"), 200],
    ["GET", of("/events?raw=true&limit=3"), 200],
    ["GET", of("/events?after=9-1"), 409],
    ["GET", of("/events?after=1-100000"), 416],
    ["GET", of("/events?after=x"), 400],
    ["GET", of("/permissions"), 200],
    ["GET", "/api/v1/permissions", 200],
    ["POST", of("/permissions/nobody"), 404, { decision: "deny" }],
    ["POST", of("/permissions/nobody"), 400, { decision: "perhaps" }],
    ["DELETE", of("/permissions/rules/none"), 404],
    ["GET", of("/verify"), 200],
    ["GET", "/api/v1/workspaces/nowhere/verify", 404],
    ["GET", of("/verify?to=1"), 200],
    ["GET", "/api/v1/checkpoint", 200],
    ["POST", "/api/v1/backup", 201],
    ["DELETE", "/api/v1/backup/nothing", 404],
    ["POST", "/api/v1/message", 200, { content: "ECHO hello", workspace_id: "described" }],
    ["POST", "/api/v1/message", 200, { content: "ERROR it failed", workspace_id: "described" }],
    ["POST", "/api/v1/message", 400, {}],
    ["GET", "/api/v1/workspaces", 200],
    ["GET", of(""), 200],
    ["GET", "/api/v1/workspaces/nowhere", 404],
    ["PATCH", of(""), 200, { retain: { turns: 1000, deltas_s: null } }],
    ["PATCH", of(""), 400, { retain: { turns: -1 } }],
    ["PATCH", "/api/v1/workspaces/nowhere", 404, {}],
    ["GET", of("/queue"), 200],
    ["DELETE", of("/queue/current"), 200],
    ["DELETE", of(`/queue/${turn}`), 200],
    ["POST", of("/session/reset"), 200],
    ["GET", of("/pending-results"), 200],
    ["GET", of("/pending-results?ack=perhaps"), 400],
    ["POST", of("/pending-results/ack"), 200, pending],
    ["GET", "/api/v1/sessions", 200],
    ["GET", "/api/v1/sessions/nowhere", 404],
    ["GET", "/api/v1/capabilities/tools", 200],
    ["POST", "/api/v1/capabilities/tools/refresh", 200],
    ["GET", "/api/v1/status", 200],
    ["PUT", "/api/v1/settings/providers/mine", 200, { base_url: "http://127.0.0.1:9", auth_token: "a-secret" }],
    ["PUT", "/api/v1/settings/providers/mine", 400, { base_url: 7 }],
    ["POST", "/api/v1/settings/providers/mine/activate", 200],
    ["POST", "/api/v1/settings/providers/other/activate", 404],
    ["GET", "/api/v1/settings", 200],
    ["GET", "/api/v1/shells", 200],
    ["DELETE", `/api/v1/shells/${shell}`, 200],
    ["DELETE", "/api/v1/shells/nowhere", 404],
  ];
  for (const [method, path, status, body] of calls)
    assert.equal((await call(method, path, body)).status, status, `${method} ${path}`);
  const events = JSON.parse((await call("GET", of("/events"))).body) as { events: { type: string }[] };
  const types = new Set(events.events.map((event) => event.type));
  for (const type of ["workspace.created", "workspace.configured", "item.delta", "turn.completed", "shell.closed", "session.reset"])
    assert.ok(types.has(type), type);
  assert.deepEqual(server.schemas.violations, []);
});

test("what a stranger is told is described, for every call that wants a token", async () => {
  const stranger = { Authorization: "" };
  const paths = ["/api/v1/status", "/metrics", of("/events"), "/openapi.json"];
  for (const path of paths) assert.equal((await call("GET", path, undefined, stranger)).status, 401, path);
  assert.equal((await call("GET", "/health", undefined, stranger)).status, 200);
  assert.deepEqual(server.schemas.violations, []);
});

test("frames of a task's stream, an event stream and its lines are described", async () => {
  const headers = { Accept: "application/x-ndjson", Authorization: `Bearer ${server.token}` };
  const task = await fetch(`${server.url}/api/v1/message/stream`, {
    method: "POST",
    headers,
    body: JSON.stringify({ content: "TOOL echo hello\nWORDS 3", workspace_id: "framed" }),
  });
  const frames = [...(await task.text()).matchAll(/^data: (.*)$/gm)].map((found) => JSON.parse(found[1]!));
  assert.deepEqual(new Set(frames.map((frame) => frame.type)), new Set(["chunk", "tool_call", "tool_result", "done"]));
  for (const frame of frames) server.schemas.check("MessageFrame", frame);
  const lines = await fetch(`${server.url}/api/v1/workspaces/framed/events`, { headers });
  for (const line of (await lines.text()).trim().split("\n")) server.schemas.check("Event", JSON.parse(line));
  assert.deepEqual(server.schemas.violations, []);
});

test("a description that did not fit would be noticed", () => {
  const schemas = server.schemas;
  schemas.check("Event", { type: "turn.completed", offset: 1 });
  schemas.check("Health", { status: "ill" });
  schemas.checkAnswer("GET", "/health", 200, "application/json", `{"status":"healthy"}`);
  assert.equal(schemas.violations.splice(0).length, 3);
  const known = { workspace: "w", epoch: 1, offset: 1, position: 1, time: "2026-01-01T00:00:00.000Z" };
  schemas.check("Event", { ...known, type: "new.type", data: { anything: 1 } });
  schemas.check("Event", { ...known, type: "turn.completed", data: { truncated: true, bytes: 1 } });
  assert.deepEqual(schemas.violations, []);
  schemas.check("Event", { ...known, type: "turn.completed", data: { outcome: "succeeded" } });
  assert.equal(schemas.violations.splice(0).length, 1);
});
