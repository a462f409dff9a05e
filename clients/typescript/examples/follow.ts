// Sends a prompt and prints what the agent answers, as it comes.
import { Tidemark } from "@tidemark/client";

const server = new Tidemark({
  url: process.env["TIDEMARK_SERVER"] ?? "http://127.0.0.1:7021",
  token: process.env["TIDEMARK_TOKEN"],
});
const workspace = server.workspace("demo");
const { turn, epoch, offset } = await workspace.submit("WORDS 12");

for await (const event of workspace.events({ after: `${epoch}-${offset}`, turn })) {
  if (event.type === "item.delta") process.stdout.write(event.data.text);
  if (event.type === "turn.completed") {
    console.log(`\n${event.data.outcome}, ${event.data.usage.output} tokens`);
    break;
  }
}
