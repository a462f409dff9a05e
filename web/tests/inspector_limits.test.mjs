// The inspector in a real browser where there is much, where something is gone, and where the server is away.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  begin,
  checkAccess,
  complaints,
  end,
  expect,
  isLost,
  newPage,
  picture,
  server,
} from "./browser.mjs";
import { until } from "./stage.mjs";

let page;
let looker;

before(
  async () => {
    server.settings = {
      TIDEMARK_RETAIN_SWEEP: "1s",
      TIDEMARK_WEBHOOKS_ALLOW_PRIVATE: "true",
      TIDEMARK_AGENT_SNAPSHOTS: "true",
      TIDEMARK_HTTP_TOKENS_FILE: server.tokens,
    };
    looker = server.token("looker", "read"); // which makes the file that the server wants
    await begin();
    page = await newPage();
  },
  { timeout: 60_000 },
);

after(end);

async function open(hash) {
  await page.goto(`${server.url}/ui/${hash}`);
}

const rowOf = (name) => page.getByRole("option").filter({ hasText: name });

/** As the server would list them: every third one has failed, every one has cost something else. */
function crowd(size) {
  const now = Date.now();
  const of = (n) => ({ id: `w-${n}`, time: new Date(now - n * 1000).toISOString() });
  const all = Array.from({ length: size }, (_, n) => of(n));
  return {
    workspaces: all.map(({ id, time }) => ({
      id,
      path: `/${id}`,
      status: "idle",
      created_at: time,
      updated_at: time,
      session_id: null,
    })),
    ended: all.map(({ id, time }, n) => ({
      workspace: id,
      epoch: 1,
      offset: 9,
      position: n + 1,
      time,
      type: "turn.completed",
      turn: `turn-${n}`,
      data: {
        outcome: n % 3 === 0 ? "failed" : "succeeded",
        text: `answer ${n}`,
        cost_usd: 1 + ((n * 7919) % size) / 100,
        duration_ms: 5,
      },
    })),
  };
}

describe("the inspector at its limits", { timeout: 600_000 }, () => {
  it("scrolls, filters and sorts 3,000 workspaces with a bounded document", async () => {
    const size = 3000;
    const many = await newPage();
    const { workspaces, ended } = crowd(size);
    await many.route("**/api/v1/workspaces", (route) => route.fulfill({ json: { workspaces } }));
    await many.route(/api\/v1\/events\?types=turn\.completed&/, (route) =>
      route.fulfill({ json: { events: ended, next: "1", head: size, complete: true } }),
    );
    await many.goto(`${server.url}/ui/`);
    const rows = many.locator(".vrow");
    const sizeOf = async () => Number(await rows.first().getAttribute("aria-setsize"));
    await until(async () => (await sizeOf()) === size, "all rows");
    const state = (name) => many.getByRole("button", { name: new RegExp(`^${name} [\\d,]+$`) });
    await until(async () => (await state("failed").innerText()).endsWith("1,000"), "their states");

    const most = await many.evaluate(async () => {
      const list = document.querySelector(".vlist");
      let seen = 0;
      do {
        list.scrollTop += 600;
        await new Promise((done) => requestAnimationFrame(done));
        seen = Math.max(seen, document.querySelectorAll(".vrow").length);
      } while (list.scrollTop + list.clientHeight < list.scrollHeight - 1);
      return seen;
    });
    assert.ok(most < 80, `rows in the document: ${most}`);
    await many
      .getByRole("option")
      .filter({ hasText: `w-${size - 1}` })
      .waitFor();

    const sort = (name) => many.getByRole("button", { name, exact: false }).first().click();
    const first = async () => (await many.locator(".vrow .col-name").first().innerText()).trim();
    await many.locator(".vlist").evaluate((list) => (list.scrollTop = 0));
    const dearest = ended.reduce((a, b) => (a.data.cost_usd > b.data.cost_usd ? a : b)).workspace;
    await sort("Cost");
    await until(async () => (await first()) === dearest, "the dearest one first");
    await sort("Cost");
    await until(async () => (await first()) !== dearest, "the cheapest one first");
    await sort("State");
    await until(
      async () => (await many.locator(".vrow .state.failed").count()) > 10,
      "those that failed first",
    );
    await state("failed").click();
    await until(async () => (await sizeOf()) === size / 3, "those that failed alone");
    await state("all").click();
    await many.locator("#filter").fill("w-299 answer");
    await until(async () => (await sizeOf()) === 11, "w-299 and w-2990 to w-2999");
    await many.locator("#filter").fill("");
    await many.locator(".vlist").focus();
    await many.keyboard.press("End");
    await until(
      async () => (await many.locator('.vrow[aria-selected="true"]').count()) === 1,
      "the last one",
    );
    assert.ok((await rows.count()) < 80);
    await server.run("newcomer", "ECHO in a crowd");
    await many.locator("#filter").fill("newcomer");
    await until(async () => (await sizeOf()) === 1, "the one that came while somebody looked");
    await many.context().close();
  });

  it("tells which workspaces wait for a person, also to one who comes later", async () => {
    await server.submit("gate", "ASK NotebookEdit");
    await until(
      async () => (await server.call("GET", "/api/v1/permissions")).pending.length === 1,
      "the request",
    );
    await open("");
    await rowOf("gate").filter({ hasText: "needs a decision" }).waitFor();
    await page.getByRole("button", { name: "needs a decision 1" }).click();
    await rowOf("gate").click();
    await page.locator(".space-head .state.waiting").waitFor();
    await page.keyboard.press("a");
    await page.getByText("Allowed NotebookEdit.").waitFor();
    await open("");
    await page.getByRole("button", { name: /^all / }).click();
    await rowOf("gate").filter({ hasText: "idle" }).filter({ hasText: "turn.completed" }).waitFor();
  });

  it("answers a form of several questions, one of them with several answers", async () => {
    const questions = [
      {
        question: "Which quay takes the ferry?",
        header: "Quay",
        multiSelect: false,
        options: [
          { label: "North", description: "deep, but far from the road" },
          { label: "South", description: "near the road" },
        ],
      },
      {
        question: "Who has to know?",
        header: "Notice",
        multiSelect: true,
        options: [
          { label: "Pilots", description: "by radio" },
          { label: "Harbour office", description: "by mail" },
          { label: "Passengers", description: "on the board" },
        ],
      },
      { question: "From when?", header: "Time", multiSelect: false, options: [] },
    ];
    const input = { questions };
    const lines = [
      {
        type: "assistant",
        parent_tool_use_id: null,
        message: {
          id: "m1",
          type: "message",
          role: "assistant",
          model: "demo-model-1",
          content: [{ type: "tool_use", id: "q1", name: "AskUserQuestion", input }],
          stop_reason: null,
        },
      },
      {
        type: "control_request",
        request_id: "r1",
        request: {
          subtype: "can_use_tool",
          tool_name: "AskUserQuestion",
          input,
          tool_use_id: "q1",
        },
      },
      {
        type: "user",
        parent_tool_use_id: null,
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "q1", content: "answered" }],
        },
      },
      { type: "result", subtype: "success", is_error: false, result: "Noted.", num_turns: 1 },
    ];
    server.file("form.ndjson", lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
    await server.submit("berth", "Plan the berths of the winter.\nREPLAY ../../form.ndjson", "mia");
    await open("#/w/berth");
    const form = page.locator(".decision");
    const answer = form.getByRole("button", { name: "Answer" });
    await form.getByRole("button", { name: "South" }).click();
    assert.ok(await answer.isDisabled());
    await form.getByRole("button", { name: "Pilots" }).click();
    await form.getByRole("button", { name: "Harbour office" }).click();
    await form.getByRole("button", { name: "Passengers" }).click();
    await form.getByRole("button", { name: "Harbour office" }).click(); // not them after all
    await form.getByLabel("From when?").fill("Monday, 6:00");
    await page.locator(".asked li", { hasText: "deep, but far from the road" }).waitFor();
    await checkAccess(page, "a form");
    await picture(page, "questions");
    await answer.press("a");
    await page.locator(".turn .state.succeeded").waitFor();
    const { events } = await server.call(
      "GET",
      "/api/v1/workspaces/berth/events?types=question.resolved",
    );
    assert.deepEqual(events.at(-1).data.answers, {
      "Which quay takes the ferry?": "South",
      "Who has to know?": "Pilots, Passengers",
      "From when?": "Monday, 6:00",
    });
  });

  it("shows what a turn changed in the files, by whatever means", async () => {
    await server.run("yard", "TOOL printf 'keel\\nhull\\n' > plan.txt");
    await server.run("yard", "TOOL sed -i s/hull/mast/ plan.txt; mkdir -p log; date > log/day");
    await open("#/w/yard");
    const changed = page.getByRole("group", { name: "Files that changed" });
    const last = changed.last();
    await last
      .getByRole("listitem")
      .filter({ hasText: "log/day" })
      .filter({ hasText: "new" })
      .waitFor();
    assert.match(await last.getByRole("listitem").last().innerText(), /plan\.txt\s*\+1\s*−1/);
    await last.getByRole("button", { name: "Show the changes" }).click();
    await last.locator(".add", { hasText: /^\+mast/ }).waitFor();
    await last.locator(".del", { hasText: /^-hull/ }).waitFor();
    await checkAccess(page, "changes of files");
    await page.locator(".conversation").evaluate((box) => (box.scrollTop = box.scrollHeight));
    await picture(page, "changes");
  });

  it("shows who reads along and how far behind", async () => {
    await server.run("beacon", "Count the flashes of the beacon\nWORDS 40 0", "nightly");
    const of = "/api/v1/workspaces/beacon";
    await server.call("PUT", `${of}/consumers/billing`, { from: "first" });
    await server.call("PUT", `${of}/consumers/board`, { from: "head" });
    await server.call("PUT", `${of}/webhooks/pager`, {
      url: "http://127.0.0.1:9/pager", // nobody listens there
      max_attempts: 1,
    });
    await open("#/w/beacon");
    const panel = page.getByRole("region", { name: "Consumers" });
    for (const name of ["billing", "board", "pager"])
      await panel.getByRole("listitem").filter({ hasText: name }).waitFor();
    await panel.getByRole("listitem").filter({ hasText: "pager" }).locator(".bad").waitFor();
    await page.locator(".line.warn", { hasText: "pager" }).waitFor();
    await checkAccess(page, "consumers");
    await picture(page, "consumers");
  });

  it("goes back to the beginning of more events than it reads at once", async () => {
    await server.run("flood", "Measure the flood\nWORDS 11000 0");
    await open("#/w/flood");
    const line = page.getByRole("slider");
    // What was open before stands there until the browser has taken the new address.
    await until(async () => Number(await line.getAttribute("max")) > 11_000, "the time line");
    await page.locator(".turn .state.succeeded").waitFor();
    assert.equal(await line.getAttribute("min"), "1");
    await line.fill("20");
    await page.locator(".prompt", { hasText: "Measure the flood" }).waitFor();
    const said = (await page.locator(".said").innerText()).trim().split(/\s+/);
    const { events } = await server.call(
      "GET",
      "/api/v1/workspaces/flood/events?types=item.delta&limit=30",
    );
    const then = events.filter((event) => event.offset <= 20).map((event) => event.data.text);
    assert.ok(then.length > 5);
    assert.deepEqual(said, then.join("").trim().split(/\s+/));
    await page.getByRole("button", { name: "Now" }).click();
    await page.locator(".turn .state.succeeded").waitFor();
  });

  it("begins its time line where retention has left the log, and says so", async () => {
    for (let n = 1; n <= 3; ++n) await server.run("shoal", `ECHO sounding ${n}`);
    await server.call("PATCH", "/api/v1/workspaces/shoal", { retain: { turns: 1 } });
    await until(
      async () => (await server.call("GET", "/api/v1/workspaces/shoal/events?limit=1")).first > 1,
      "the removal",
    );
    const { first } = await server.call("GET", "/api/v1/workspaces/shoal/events?limit=1");
    await open("#/w/shoal");
    await page.getByText(`The log begins with event ${first}`).waitFor();
    await page.getByText(/Events 1 to \d+ were removed \(turns\)/).waitFor();
    const line = page.getByRole("slider");
    assert.equal(await line.getAttribute("min"), String(first));
    await line.fill(String(first));
    await page.locator(".timeline.past").waitFor();
    assert.match(await line.getAttribute("aria-valuetext"), new RegExp(`event ${first} of`));
    assert.equal(await page.getByText("sounding 1").count(), 0);
    await checkAccess(page, "a trimmed workspace");
    await picture(page, "trimmed");
  });

  it("says what a token may not do, and goes on with what it may", async () => {
    const reader = await newPage({ token: looker });
    expect((message) => message.includes("403"));
    await reader.goto(`${server.url}/ui/#/w/shoal`);
    await reader.getByText("sounding 3").first().waitFor();
    await reader.locator("#task").fill("ECHO no");
    await reader.keyboard.press("Control+Enter");
    await reader.locator(".composer-note.bad", { hasText: "write" }).waitFor();
    assert.equal(await reader.locator("#task").inputValue(), "ECHO no");
    await reader.getByRole("link", { name: "Shell" }).click();
    await reader.locator(".shell-note", { hasText: "admin" }).waitFor();
    await checkAccess(reader, "a refused shell");
    await reader.goto(`${server.url}/ui/#/overview`);
    await reader.locator("canvas").first().waitFor();
    await reader.context().close();
    expect();
  });

  it("goes on by itself in the list and the log when the server has been away, and shows nothing twice", async () => {
    const loses = async (work) => {
      expect(isLost);
      await server.kill();
      await page.locator(".banner.warn").waitFor();
      await work();
      await server.start();
      await page.locator(".banner").waitFor({ state: "detached" });
      expect();
    };
    await open("");
    await rowOf("shoal").waitFor();
    await loses(() => picture(page, "lost"));
    await server.run("after-storm", "ECHO calm");
    await rowOf("after-storm").filter({ hasText: "calm" }).waitFor();
    assert.equal(await rowOf("after-storm").count(), 1);

    await open("#/events?types=turn.completed");
    await rowOf("after-storm").waitFor();
    await loses(() => checkAccess(page, "a lost connection"));
    await server.run("after-storm", "ECHO calm again");
    await rowOf("calm again").waitFor();
    const places = await page
      .locator(".vrow")
      .evaluateAll((rows) => rows.map((row) => row.innerText));
    assert.equal(new Set(places).size, places.length);
    const { events } = await server.call("GET", "/api/v1/events?types=turn.completed&limit=1000");
    assert.equal(places.length, events.length);

    // A search that begins while the server is away is answered when it is back.
    expect(isLost);
    await server.kill();
    await page.locator("#filter").fill("calm again");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.locator(".foot.bad").waitFor();
    await server.start();
    await page.getByText("1 event · all there are").waitFor();
    expect();
  });

  it("has made the browser complain of nothing, and asked no other server", () => {
    assert.deepEqual(complaints, []);
  });
});
