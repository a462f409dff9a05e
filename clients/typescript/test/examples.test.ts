import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { TestServer } from "./server.js";

let server: TestServer;
before(async () => (server = await TestServer.start()));
after(() => server?.end());

async function run(example: string, ...args: string[]): Promise<string> {
  const file = new URL(`../examples/${example}.js`, import.meta.url).pathname;
  const env = { ...process.env, TIDEMARK_SERVER: server.url, TIDEMARK_TOKEN: server.token };
  return (await promisify(execFile)(process.execPath, [file, ...args], { env })).stdout;
}

test("follow prints the answer and how it ended", async () => {
  const printed = await run("follow");
  assert.equal(printed.split("\n")[0]!.trim().split(/\s+/).length, 12);
  assert.match(printed, /\nsucceeded, \d+ tokens\n$/);
});

test("keep_up handles each event once over two runs", async () => {
  const workspace = server.client().workspace("kept");
  const directory = mkdtempSync(join(tmpdir(), "tidemark-example-"));
  try {
    let printed = "";
    for (const prompt of ["WORDS 3", "ECHO two"]) {
      const { turn } = await workspace.submit(prompt);
      printed += await run("keep_up", "kept", join(directory, "cursor"), turn);
    }
    const offsets = [...printed.matchAll(/^(\d+) /gm)].map((found) => Number(found[1]));
    assert.deepEqual(offsets, offsets.map((_, index) => index + 1));
    assert.equal(printed.match(/turn\.completed/g)?.length, 2);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
