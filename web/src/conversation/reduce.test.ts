import { describe, expect, it } from "vitest";
import type { Envelope } from "../types";
import {
  apply,
  conversationAt,
  emptyConversation,
  openPermissions,
  questionsOf,
  type Item,
} from "./reduce";

function stream(
  ...parts: [type: string, data: Record<string, unknown>, turn?: string][]
): Envelope[] {
  return parts.map(([type, data, turn], index) => ({
    workspace: "w",
    epoch: 1,
    offset: index + 1,
    position: index + 1,
    time: new Date(1_700_000_000_000 + index * 100).toISOString(),
    type,
    turn,
    data,
  }));
}

const turn = stream(
  ["workspace.created", { agent: "demo", policy: "agent" }],
  ["turn.queued", { prompt: "do it", by: "ci" }, "t1"],
  ["turn.started", { attempt: 1, agent: { name: "demo" }, policy: "agent" }, "t1"],
  ["session.started", { session: "s", model: "m" }, "t1"],
  ["item.started", { item: { id: "a", kind: "message", status: "in_progress" } }, "t1"],
  ["item.delta", { item: "a", text: "one " }, "t1"],
  ["item.delta", { item: "a", text: "two" }, "t1"],
  [
    "item.completed",
    { item: { id: "a", kind: "message", status: "completed", text: "one two" } },
    "t1",
  ],
  [
    "item.started",
    { item: { id: "b", kind: "tool_call", name: "Bash", input: { command: "ls" } } },
    "t1",
  ],
  ["permission.requested", { permission: "p", tool: "Bash", item: "b", input: {} }, "t1"],
  ["permission.resolved", { permission: "p", decision: "allow", by: "policy" }, "t1"],
  ["item.completed", { item: { id: "b", kind: "tool_call", status: "completed" } }, "t1"],
  ["item.started", { item: { id: "c", kind: "tool_result", call: "b" } }, "t1"],
  [
    "item.completed",
    { item: { id: "c", kind: "tool_result", call: "b", content: "x", is_error: true } },
    "t1",
  ],
  [
    "turn.completed",
    { outcome: "succeeded", text: "one two", cost_usd: 0.5, duration_ms: 7 },
    "t1",
  ],
);

function items(of: ReturnType<typeof conversationAt>): Item[] {
  return of.turns
    .flatMap((each) => each.entries)
    .filter((each): each is Item => each.form === "item");
}

describe("a conversation", () => {
  it("joins deltas to the completed text, and a result to its call", () => {
    const at = conversationAt(turn, 99);
    expect(items(at).map((each) => [each.kind, each.text, each.output, each.failed])).toEqual([
      ["message", "one two", null, false],
      ["tool_call", "", "x", true],
    ]);
    expect(at.turns.find((each) => each.id === "t1")).toMatchObject({
      outcome: "succeeded",
      cost: 0.5,
      prompt: "do it",
    });
    expect(at.cost).toBe(0.5);
  });

  it("is at any offset what it was then", () => {
    expect(items(conversationAt(turn, 6))[0]?.text).toBe("one ");
    expect(items(conversationAt(turn, 7))[0]?.text).toBe("one two");
    expect(openPermissions(conversationAt(turn, 10))).toHaveLength(1);
    expect(openPermissions(conversationAt(turn, 11))).toHaveLength(0);
    expect(conversationAt(turn, 0).turns).toEqual([]);
  });

  it("is the same however its events come: whole, twice, or resumed anywhere", () => {
    const whole = JSON.stringify(conversationAt(turn, 99).turns);
    for (let cut = 0; cut <= turn.length; ++cut) {
      const resumed = emptyConversation();
      for (const event of [...turn.slice(0, cut), ...turn.slice(Math.max(0, cut - 4))])
        apply(resumed, event);
      expect(JSON.stringify(resumed.turns)).toBe(whole);
    }
  });

  it("begins anew with a new epoch", () => {
    const at = conversationAt(turn, 99);
    apply(at, { ...turn[1]!, epoch: 2, offset: 1, turn: "t9" });
    expect(at.turns.map((each) => each.id)).toEqual(["t9"]);
    expect(at.epoch).toBe(2);
  });

  it("can be read from the middle, and with types and fields that nobody knows", () => {
    const middle = turn.slice(6);
    const strange = stream(
      ["item.exploded", { item: 7 }, "t1"],
      ["cosmic.ray", {}],
      ["item.delta", { item: "no" }],
    );
    const last = middle.at(-1)!.offset;
    const events = [
      ...middle,
      ...strange.map((each, index) => ({ ...each, offset: last + 1 + index })),
    ];
    const at = conversationAt(events, 999);
    expect(items(at).map((each) => each.id)).toContain("b");
    expect(at.offset).toBe(last + 3);
  });

  it("knows where a turn ends and which files it changed", () => {
    const changing = stream(
      ["turn.queued", { prompt: "a" }, "t1"],
      [
        "turn.changes",
        { files: [{ path: "a.py", change: "created", added: 3, removed: 0 }, 7], count: 2 },
        "t1",
      ],
      ["turn.completed", { outcome: "succeeded" }, "t1"],
    );
    const [only] = conversationAt(changing, 9).turns;
    expect(only!.end).toBe(3);
    expect(only!.changes[0]).toEqual({ path: "a.py", change: "created", added: 3, removed: 0 });
    expect(conversationAt(changing, 2).turns[0]!.end).toBe(0);
  });

  it("reads what an agent asks people, whatever is missing", () => {
    const asked = questionsOf({
      questions: [
        { question: "Which?", options: [{ label: "a", description: "A" }, {}], multiSelect: true },
        null,
      ],
    });
    expect(asked).toEqual([
      { text: "Which?", header: "", options: [{ label: "a", about: "A" }], many: true },
      { text: "", header: "", options: [], many: false },
    ]);
    expect(questionsOf(undefined)).toEqual([]);
  });

  it("keeps what belongs to no turn in its place", () => {
    const late = stream(
      ["turn.queued", { prompt: "a" }, "t1"],
      ["turn.completed", { outcome: "succeeded" }, "t1"],
      ["agent.notice", { code: "background", text: "done" }],
      ["turn.queued", { prompt: "b" }, "t2"],
    );
    expect(conversationAt(late, 9).turns.map((each) => each.id)).toEqual(["t1", "", "t2"]);
  });
});
