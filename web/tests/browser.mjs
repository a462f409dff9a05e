// The browser that the tests of the inspector look through, and what they check in each view.
//
// environment: TIDEMARK_BIN_DIR       where tidemark and its programs are (build/release/bin)
//              TIDEMARK_SCREENSHOTS   a directory for a picture of each view; none are kept without
//              TIDEMARK_CHROMIUM      the browser's program
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { findChromium, secret, Server } from "./stage.mjs";

const skipped = 77; // what ctest takes for "skipped"
const require = createRequire(import.meta.url);

function giveUp(why) {
  console.error(
    `SKIPPED, the inspector is not tested: ${why}. scripts/setup --tests installs what is missing.`,
  );
  process.exit(skipped);
}

const executablePath = findChromium() ?? giveUp("there is no Chromium");
const { chromium } = await import("playwright-core").catch(() =>
  giveUp("playwright-core is not installed in web/"),
);
const axeSource = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const here = fileURLToPath(new URL(".", import.meta.url));
const bin = resolve(process.env.TIDEMARK_BIN_DIR ?? join(here, "../../build/release/bin"));
const pictures = process.env.TIDEMARK_SCREENSHOTS;

export const server = new Server(bin);
/** What the browser has complained of, and requests to anybody but the server. */
export const complaints = [];
let browser;

let expected = () => false;

/** Until it is called again: the complaints that a test about a failure must bring about. */
export function expect(isExpected = () => false) {
  expected = isExpected;
}

export async function begin() {
  await server.start();
  browser = await chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}

export async function end() {
  await browser?.close();
  await server.stop();
}

export async function newPage(options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    reducedMotion: "reduce",
    ...options,
  });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: server.url });
  const opened = await context.newPage();
  opened.setDefaultTimeout(60_000);
  opened.on("console", (message) => {
    if (["error", "warning"].includes(message.type()) && !expected(message.text()))
      complaints.push(message.text());
  });
  opened.on("pageerror", (error) => complaints.push(error.stack ?? String(error)));
  opened.on("request", (request) => {
    if (!request.url().startsWith(server.url)) complaints.push(`a request to ${request.url()}`);
  });
  await opened.addInitScript((token) => {
    if (token) sessionStorage.setItem("tidemark.token", token);
  }, options.token ?? secret);
  return opened;
}

/** Nothing that the rules of WCAG 2 A and AA find. */
export async function checkAccess(of, about) {
  await of.evaluate(axeSource);
  const found = await of.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"],
    });
    return violations.map(
      (each) =>
        `${each.id}: ${each.help}\n    ${each.nodes.map((node) => node.html.slice(0, 160)).join("\n    ")}`,
    );
  });
  assert.deepEqual(found, [], `${about} is accessible`);
}

export async function picture(of, name) {
  if (!pictures) return;
  // The browser's own caret stays: hiding it would put a style into the page, which its policy refuses.
  await of.screenshot({ path: join(pictures, `${name}.png`), caret: "initial" });
}

/** What a browser says of a server that is away. */
export function isLost(message) {
  return /ERR_INTERNET_DISCONNECTED|ERR_CONNECTION|ERR_INCOMPLETE|ERR_NETWORK|ERR_EMPTY|Failed to load resource/.test(
    message,
  );
}
