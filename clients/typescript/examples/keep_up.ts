// Handles every event of a workspace once, over any number of runs: the cursor is kept in a file.
// usage: node keep_up.js <workspace> <cursor file> <turn to stop after>
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cursorOf, Tidemark } from "@tidemark/client";

const [name = "demo", file = "cursor", lastTurn] = process.argv.slice(2);
const server = new Tidemark({
  url: process.env["TIDEMARK_SERVER"] ?? "http://127.0.0.1:7021",
  token: process.env["TIDEMARK_TOKEN"],
});

const after = existsSync(file) ? readFileSync(file, "utf8") : undefined;
for await (const event of server.workspace(name).events({ after, gap: "value" })) {
  if (event.type === "gap") {
    console.log(`events after ${event.requested} are gone (${event.reason})`);
    continue;
  }
  console.log(event.offset, event.type);
  writeFileSync(file, cursorOf(event)); // after the work on it, in the same transaction if there is one
  if (event.type === "turn.completed" && event.turn === lastTurn) break;
}
