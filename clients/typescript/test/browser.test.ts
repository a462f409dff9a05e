import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";

test("the client uses nothing that only Node has", () => {
  const folder = new URL("../src/", import.meta.url);
  const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
  assert.ok(files.length > 5);
  for (const file of files) {
    const code = readFileSync(new URL(file, folder), "utf8");
    assert.doesNotMatch(code, /from "node:|\b(process|Buffer|require|__dirname|setImmediate|global)\b\s*[.(]/, file);
    for (const [, from] of code.matchAll(/from "([^"]+)"/g))
      assert.ok(from!.startsWith("./") || from === "eventsource-parser", `${file}: ${from}`);
  }
});
