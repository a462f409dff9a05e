// Runs a tool of node_modules, or says loudly that it is not there, which ctest takes for "skipped".
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [name, ...rest] = process.argv.slice(2);
const program = fileURLToPath(new URL(`../node_modules/.bin/${name}`, import.meta.url));
if (!existsSync(program)) {
  console.error(
    `SKIPPED: ${name} is not installed in web/; the build of the inspector installs it (npm ci).`,
  );
  process.exit(77);
}
process.exit(spawnSync(program, rest, { stdio: "inherit" }).status ?? 1);
