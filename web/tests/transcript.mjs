// What an agent would print for a small repair: reasoning, prose, a search, an edit, a failing and a passing test
// run. For the demo agent's REPLAY, so that views have something to show that nobody has to pay for.
const message = (id, content) => ({
  type: "assistant",
  parent_tool_use_id: null,
  message: {
    id,
    type: "message",
    role: "assistant",
    model: "demo-model-1",
    content,
    stop_reason: null,
  },
});
const result = (id, content, isError = false) => ({
  type: "user",
  parent_tool_use_id: null,
  message: {
    role: "user",
    content: [{ type: "tool_result", tool_use_id: id, content, is_error: isError }],
  },
});
const tool = (message_id, id, name, input) =>
  message(message_id, [{ type: "tool_use", id, name, input }]);

const before = `def next_tide(tides, now):
    """The first tide after now."""
    for tide in tides:
        if tide.time >= now:
            return tide
    return tides[0]
`;
const after = `def next_tide(tides, now):
    """The first tide after now; None if the table has ended."""
    for tide in tides:
        if tide.time > now:
            return tide
    return None
`;

const trace = `E   AttributeError: 'NoneType' object has no attribute 'height'

harbour/board.py:41: AttributeError
=========================== short test summary info ============================
FAILED tests/test_board.py::test_last_row - AttributeError: 'NoneType' object has no attribute 'height'
1 failed, 16 passed in 0.41s`;

export function transcript() {
  const thought =
    "The board shows a tide that is over. `>=` lets the present one through, and at the end of the table it starts again from the first day, which is a year old.";
  return [
    message("m1", [{ type: "thinking", thinking: thought, signature: "" }]),
    message("m1", [{ type: "text", text: "I look at how the board picks the next tide." }]),
    tool("m1", "t1", "Grep", { pattern: "next_tide", path: "harbour" }),
    result(
      "t1",
      "harbour/tides.py:12:def next_tide(tides, now):\nharbour/board.py:38:    tide = next_tide(table, now)",
    ),
    message("m2", [
      {
        type: "text",
        text: "Two faults in one function: it takes a tide that is **just over**, and after the last row it answers with the first.",
      },
    ]),
    tool("m2", "t2", "Edit", {
      file_path: "harbour/tides.py",
      old_string: before,
      new_string: after,
    }),
    result("t2", "The file harbour/tides.py has been updated."),
    tool("m2", "t3", "Bash", { command: "python -m pytest -q", description: "Run the tests" }),
    result("t3", trace, true),
    message("m3", [{ type: "text", text: "The board has to say so when the table has ended." }]),
    tool("m3", "t4", "Edit", {
      file_path: "harbour/board.py",
      old_string: '    return f"{tide.height:.1f} m"\n',
      new_string:
        '    if tide is None:\n        return "no table for this day"\n    return f"{tide.height:.1f} m"\n',
    }),
    result("t4", "The file harbour/board.py has been updated."),
    tool("m3", "t5", "Bash", { command: "python -m pytest -q", description: "Run the tests" }),
    result("t5", "17 passed in 0.38s"),
    message("m4", [
      {
        type: "text",
        text: "Done. What changed:\n\n- `next_tide` takes only tides that are still to come, and answers `None` after the last one\n- the board then says *no table for this day*\n\n```python\nassert next_tide(table, table[-1].time) is None\n```",
      },
    ]),
    {
      type: "result",
      subtype: "success",
      is_error: false,
      duration_ms: 5200,
      num_turns: 4,
      result: "Done.",
      total_cost_usd: 0.0842,
      usage: {
        input_tokens: 9120,
        output_tokens: 2210,
        cache_read_input_tokens: 48000,
        cache_creation_input_tokens: 5100,
      },
    },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join("");
}
