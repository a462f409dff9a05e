// The inspector in a real browser against the real server with the demo agent: what one does with it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
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
import { secret, until } from "./stage.mjs";
import { transcript } from "./transcript.mjs";

let page;

/** A view as it is in both schemes. */
async function show(name) {
  await checkAccess(page, name);
  await picture(page, name);
  await page.emulateMedia({ colorScheme: "dark" });
  await checkAccess(page, `${name} in the dark`);
  await picture(page, `${name}-dark`);
  await page.emulateMedia({ colorScheme: "light" });
}

async function open(hash) {
  await page.goto(`${server.url}/ui/${hash}`);
}

const text = (selector) => page.locator(selector).first().innerText();

before(
  async () => {
    await begin();
    page = await newPage();
  },
  { timeout: 60_000 },
);

after(end);

describe("the inspector", { timeout: 600_000 }, () => {
  it("asks for a token, says why one is refused, and keeps a good one in this tab alone", async () => {
    const guest = await newPage({ token: " " });
    expect((message) => message.includes("401"));
    await guest.addInitScript(() => sessionStorage.clear());
    await guest.goto(`${server.url}/ui/`);
    await guest.getByLabel("Token").fill("wrong");
    await checkAccess(guest, "the token page");
    await picture(guest, "token");
    await guest.getByRole("button", { name: "Open" }).click();
    await guest.getByRole("alert").filter({ hasText: "not one of this server's" }).waitFor();
    await guest.getByLabel("Token").fill(secret);
    await guest.keyboard.press("Enter");
    await guest.getByRole("link", { name: "Overview" }).waitFor();
    assert.equal(await guest.evaluate(() => sessionStorage.getItem("tidemark.token")), secret);
    assert.ok(!guest.url().includes(secret));
    assert.deepEqual(
      await guest.evaluate(() => [
        document.cookie,
        JSON.stringify(localStorage).includes("a-token"),
      ]),
      ["", false],
    );
    await guest.context().close();
    expect();
  });

  it("lists workspaces as they are, live, and finds one by typing", async () => {
    await server.run("quay-7", "ERROR the build machine's disk is full");
    await server.run("light-house", "WORDS 12 0", "nightly");
    await server.submit("ferry-plan", "WORDS 4000 50");
    await server.submit("ferry-plan", "ECHO behind it");
    await open("");
    const row = (name) => page.getByRole("option").filter({ hasText: name });
    await row("quay-7").filter({ hasText: "failed" }).filter({ hasText: "disk is full" }).waitFor();
    await row("ferry-plan")
      .filter({ hasText: "running" })
      .filter({ hasText: "WORDS 4000" })
      .waitFor();
    await until(
      async () => (await row("ferry-plan").locator(".col-queue").innerText()) === "1",
      "the queue's length",
    );
    await row("light-house").filter({ hasText: "$0.00" }).waitFor();
    await server.run("new-pier", "ECHO hello"); // while somebody looks
    await row("new-pier").filter({ hasText: "idle" }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("quay");
    await until(async () => (await page.locator(".vrow").count()) === 1, "one row");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "quay-7" }).waitFor();
    assert.match(await text(".failure"), /the build machine's disk is full/);
    await open("");
    await page.locator("#filter").fill("");
  });

  it("shows a conversation as people read it", async () => {
    server.file("transcript.ndjson", transcript());
    await server.run(
      "harbour",
      "Fix the harbour board: it shows a tide that is over.\nREPLAY ../../transcript.ndjson",
      "mia",
    );
    await open("#/w/harbour");
    await page.getByText("Two faults in one function").waitFor();
    assert.equal(await page.locator(".md strong").first().innerText(), "just over");
    assert.equal(await page.locator(".diff .path").first().innerText(), "harbour/tides.py");
    assert.match(await text(".diff pre .add"), /^\+/);
    assert.equal(await page.locator(".reasoning[open]").count(), 0);
    assert.match(await text(".tool.bad .io.error"), /AttributeError/);
    await show("workspace");
  });

  it("lets a person answer what the agent asks, by a key", async () => {
    await server.submit("pilot", "QUESTION Which colour?");
    await open("#/w/pilot");
    const card = page.locator(".decision");
    await card.getByRole("button", { name: "blue" }).click();
    await checkAccess(page, "a question");
    await picture(page, "decision");
    await card.getByRole("button", { name: "blue" }).press("a");
    await page.getByText("Chosen: blue.").waitFor();
    await server.submit("pilot", "ASK NotebookEdit");
    await card.getByText("asked.txt").waitFor();
    await checkAccess(page, "a permission");
    await page.keyboard.press("d");
    await page.getByText("Refused NotebookEdit.").waitFor();
    await server.submit("pilot", "ASK NotebookEdit");
    await card.waitFor();
    await page.keyboard.press("A");
    await page.getByText("Allowed NotebookEdit.").waitFor();
    await server.run("pilot", "ASK NotebookEdit"); // asks nobody
    assert.equal(await card.count(), 0);
  });

  it("sends a task and shows each word once, across a loss of the network and of the server", async () => {
    expect((message) => message.includes("404")); // there is no such workspace yet
    await open("#/w/crane");
    await page.keyboard.press("n");
    await page.locator("#task").fill("WORDS 60 60");
    await page.keyboard.press("Control+Enter");
    const said = page.locator(".said").first();
    const words = async () => (await said.innerText()).trim().split(/\s+/);
    await said.waitFor();
    await until(async () => (await words()).length > 5, "some words");
    expect(isLost);
    await page.context().setOffline(true);
    await page.locator(".banner.warn").waitFor();
    await page.context().setOffline(false);
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.locator(".turn .state.succeeded").waitFor();
    const [{ turn }] = (await server.call("GET", "/api/v1/workspaces/crane/turns")).turns;
    const { text: whole } = await server.turn("crane", turn);
    assert.deepEqual(await words(), whole.trim().split(/\s+/));

    await page.locator("#task").fill("TOOL sleep 1; echo the tide is in");
    await page.keyboard.press("Control+Enter");
    const tool = page.locator(".tool");
    await tool.locator(".spin").waitFor(); // shown while it runs, and then drawn anew
    await tool.locator(".io", { hasText: /^the tide is in$/ }).waitFor({ state: "attached" });
    await tool.locator(".spin").waitFor({ state: "detached" });
    await until(
      async () => (await page.locator(".turn .state.succeeded").count()) === 2,
      "its end",
    );

    await page.locator("#task").fill("WORDS 2000 40");
    await page.keyboard.press("Control+Enter");
    const second = page.locator(".said").last();
    await until(
      async () => (await second.innerText().catch(() => "")).split(/\s+/).length > 8,
      "words of the second task",
    );
    await server.kill();
    await page.locator(".banner.warn").waitFor();
    await server.start();
    await page.locator(".banner").waitFor({ state: "detached" });
    await page.locator(".turn .state.interrupted").waitFor();
    const { events } = await server.call(
      "GET",
      "/api/v1/workspaces/crane/events?types=item.completed&limit=10000",
    );
    assert.equal(
      (await second.locator(".md").innerText()).trim().split(/\s+/).join(" "),
      events.at(-1).data.item.text.trim().split(/\s+/).join(" "),
    );
    expect();
  });

  it("shows the queue, and cancels what runs and what waits", async () => {
    await server.submit("dock", "WORDS 5000 50");
    await server.submit("dock", "ECHO waits for nothing");
    await open("#/w/dock");
    await page.getByRole("button", { name: "Cancel the task: ECHO" }).waitFor();
    await checkAccess(page, "a queue");
    await page.getByRole("button", { name: "Cancel the task: ECHO" }).click();
    await page.locator(".turn .state.cancelled").waitFor();
    await page.getByRole("button", { name: "Cancel the task: WORDS" }).click();
    await page.getByText("Nothing runs, nothing waits.").waitFor();
    assert.equal(await page.locator(".turn .state.cancelled").count(), 2);
  });

  it("goes back to any event, and replays", async () => {
    await open("#/w/harbour");
    await page.getByText("Done. What changed:").waitFor();
    const line = page.getByRole("slider");
    const head = Number(await line.getAttribute("max"));
    await line.fill("8");
    await page.getByText("Done. What changed:").waitFor({ state: "detached" });
    assert.equal(await page.locator(".diff").count(), 0);
    await line.press("ArrowRight");
    assert.equal(await line.inputValue(), "9");
    await line.fill("22");
    await page.locator(".tool.bad .io.error").waitFor();
    await checkAccess(page, "the past");
    await picture(page, "past");
    await line.fill("8");
    await page.getByLabel("Speed").selectOption("64");
    await page.getByRole("button", { name: "Replay from here" }).click();
    await page.getByText("Done. What changed:").waitFor();
    await until(async () => Number(await line.inputValue()) === head, "the end of the replay");
    await page.getByRole("button", { name: "Now" }).waitFor({ state: "detached" });

    await open("#/w/crane"); // where words came every 60 ms: in its own time it plays for seconds
    await page.getByRole("heading", { name: "crane" }).waitFor();
    await until(async () => Number(await line.getAttribute("max")) > 60, "its time line");
    const end = Number(await line.getAttribute("max"));
    await line.fill("10");
    await page.getByLabel("Speed").selectOption("1");
    await page.locator(".conversation").focus();
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Pause" }).waitFor();
    await until(async () => Number(await line.inputValue()) > 11, "the next words");
    await page.keyboard.press("p");
    await page.getByRole("button", { name: "Replay from here" }).waitFor();
    const at = Number(await line.inputValue());
    assert.ok(at < end, `paused at ${at} of ${end}`);
  });

  it("gives a shell in the workspace's directory", async () => {
    await open("#/w/harbour/shell");
    await page.getByText("Runs in the workspace's directory").waitFor();
    await page.keyboard.type(
      "printf '\\033[38;2;200;60;60m%s\\033[0m\\n' $((6*7)) && ls -d \"$PWD\"\n",
    );
    await page.locator(".xterm-rows", { hasText: "workspaces/harbour" }).waitFor();
    const coloured = page.locator(".xterm-rows span", { hasText: /^42$/ });
    assert.match((await coloured.getAttribute("style")) ?? "", /rgb\(200, 60, 60\)/);
    await page.keyboard.type("PS1='harbour$ '; clear\n");
    await page.keyboard.type(
      "for n in 1 2 3 4; do printf '\\033[3%dmgauge %d\\033[0m\\n' $n $n; done\n",
    );
    await page.locator(".xterm-rows span", { hasText: /^gauge 4/ }).waitFor();
    await checkAccess(page, "the shell");
    await picture(page, "shell");
    await open("#/");
    await until(
      async () => (await server.call("GET", "/api/v1/shells")).shells.length === 0,
      "the shell's end",
    );
  });

  it("finds events, shows the agent's line beside the universal form, and copies the call", async () => {
    await open("#/events?workspace=harbour");
    await page.getByLabel("Types").fill("item.started");
    await page.locator("#filter").fill("harbour/board.py");
    await page.keyboard.press("Enter");
    await page.getByText("1 event · all there are").waitFor();
    await page.locator(".vrow").click();
    await page.locator(".raw").filter({ hasText: '"id":"t4"' }).waitFor();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(
      copied,
      /^curl -sN -H "Authorization: Bearer \$TIDEMARK_TOKEN" 'http.*events\?after=1-\d+&limit=1&raw=true'$/,
    );
    assert.ok(!copied.includes(secret));
    const env = { ...process.env, TIDEMARK_TOKEN: secret };
    const [event] = JSON.parse(execFileSync("bash", ["-c", copied], { env })).events;
    assert.equal(event.data.item.input.file_path, "harbour/board.py");
    assert.match(event.raw, /"id":"t4"/);
    await page.getByRole("button", { name: "Copy search as curl" }).click();
    const search = await page.evaluate(() => navigator.clipboard.readText());
    const lines = execFileSync("bash", ["-c", search], { env }).toString().trim().split("\n");
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).offset),
      [event.offset],
    );

    await open("#/events?types=turn.completed");
    await page.getByLabel("Outcome").selectOption("failed");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText("1 event · all there are").waitFor();
    await page.locator(".vrow", { hasText: "disk is full" }).waitFor();
    await page.getByLabel("Outcome").selectOption("");
    await page.getByLabel("Tool").fill("Edit");
    await page.getByLabel("Types").fill("item.completed");
    await page.keyboard.press("Enter");
    await page.getByText("2 events · all there are").waitFor();
    await page.getByLabel("To", { exact: true }).fill("2020-01-01T00:00");
    await page.getByRole("button", { name: "Search", exact: true }).click();
    await page.getByText("No event matches.").waitFor();

    await open("#/events?workspace=harbour");
    await page.getByRole("option").filter({ hasText: "Edit" }).first().click();
    await page.locator(".detail h2").waitFor();
    await show("events");
    await page.keyboard.press("Escape");
    await page.locator(".detail").waitFor({ state: "detached" });
  });

  it("scrolls through more than 10,000 events with a bounded document", async (test) => {
    await server.run("flood", "WORDS 10200 0");
    await open("#/events?workspace=flood");
    // The list that was open before stands there until the browser has taken the new address.
    await page.locator(".vrow", { hasText: "flood" }).first().waitFor();
    const measured = await page.evaluate(async () => {
      const list = document.querySelector(".vlist");
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      const gaps = [];
      let most = 0;
      let last = performance.now();
      const end = last + 120_000;
      while (
        !/all there are/.test(document.querySelector(".foot").textContent) ||
        list.scrollTop + list.clientHeight < list.scrollHeight - 2
      ) {
        list.scrollTop += 4000;
        await frame();
        const now = performance.now();
        gaps.push(now - last);
        last = now;
        most = Math.max(most, document.querySelectorAll(".vrow").length);
        if (now > end) return { most, rows: -1, longest: 0, frames: gaps.length };
      }
      gaps.sort((a, b) => a - b);
      const [row] = document.querySelectorAll(".vrow");
      return {
        most,
        rows: Number(row.getAttribute("aria-setsize")),
        frames: gaps.length,
        median: gaps[gaps.length >> 1],
        longest: gaps.at(-1),
      };
    });
    test.diagnostic(`frames ${JSON.stringify(measured)}`);
    assert.ok(measured.rows > 10_000, `all rows are there: ${measured.rows}`);
    assert.ok(measured.most < 120, `rows in the document: ${measured.most}`);
    await page.getByRole("option").filter({ hasText: "workspace.created" }).waitFor();
  });

  it("draws the overview from the log and the metrics", async () => {
    await server.submit("ferry-plan", "Plan the ferries of the winter table\nWORDS 4000 50");
    await open("#/overview");
    await page.getByRole("img", { name: /Turns an hour.*succeeded of/ }).waitFor();
    await page.getByRole("row").filter({ hasText: "demo-model-1" }).waitFor();
    await page.getByRole("img", { name: /Events a second: [1-9]/ }).waitFor();
    assert.ok((await page.locator("canvas").count()) >= 4);
    await page.setViewportSize({ width: 1280, height: 1010 }); // so that all of it is in the picture
    await show("overview");
    await page.setViewportSize({ width: 1280, height: 800 });
  });

  it("shows the list by keyboard, in Chinese, in the dark, and on a phone", async () => {
    await server.submit("ferry-plan", "Compare it with last year's\nECHO behind it");
    await server.submit("night-watch", "Watch the level at the gate until six\nWORDS 4000 50");
    await page.keyboard.press("1");
    await page.getByRole("option").filter({ hasText: "until six" }).waitFor();
    await page.getByRole("option").filter({ hasText: "$0.0842" }).waitFor();
    await show("workspaces");
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const chosen = await page.locator('.vrow[aria-selected="true"] .col-name').innerText();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: chosen, exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("listbox", { name: "Workspaces" }).waitFor();
    await page.keyboard.press("?");
    await page.getByRole("dialog").waitFor();
    await checkAccess(page, "the help");
    await picture(page, "keys");
    await page.keyboard.press("Escape");

    const phone = await newPage({
      viewport: { width: 390, height: 844 },
      hasTouch: true,
      isMobile: true,
      locale: "zh-CN",
      colorScheme: "dark",
    });
    await phone.goto(`${server.url}/ui/`);
    await phone.getByRole("option").filter({ hasText: "harbour" }).waitFor();
    assert.equal(await phone.locator("html").getAttribute("lang"), "zh-CN");
    await checkAccess(phone, "the list on a phone");
    await picture(phone, "phone-workspaces");
    await phone.getByRole("option").filter({ hasText: "harbour" }).tap();
    await phone.getByText("Done. What changed:").waitFor();
    await checkAccess(phone, "a workspace on a phone");
    await picture(phone, "phone-workspace");
    await phone.getByRole("button", { name: "设置" }).tap();
    await phone.getByLabel("语言").selectOption("en");
    await phone.getByRole("button", { name: "Settings" }).waitFor();
    await phone.getByLabel("Language").selectOption("zh");
    await checkAccess(phone, "the settings on a phone");
    for (const view of ["", "#/events", "#/overview", "#/w/harbour"]) {
      await phone.goto(`${server.url}/ui/${view}`);
      await phone.locator("main").waitFor();
      await checkAccess(phone, `${view} on a phone`);
      assert.equal(
        await phone.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth),
        true,
        `${view} fits`,
      );
    }
    await phone.context().close();
  });

  it("has made the browser complain of nothing, and asked no other server", () => {
    assert.deepEqual(complaints, []);
  });
});
