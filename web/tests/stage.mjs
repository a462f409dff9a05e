// A real server with the demo agent, and a real browser.
import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export const secret = "a-token-for-the-tests";

/** Polls until `what` is true; fails after `limit` ms. */
export async function until(what, about, limit = 60_000) {
  const end = Date.now() + limit;
  for (;;) {
    const found = await what();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${limit} ms for ${about}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class Server {
  #bin;
  #child;
  directory = mkdtempSync(join(tmpdir(), "tidemark-ui-"));
  port = 0;
  /** Further settings, as variables. */
  settings = {};

  constructor(bin) {
    this.#bin = bin;
  }

  get url() {
    return `http://127.0.0.1:${this.port}`;
  }

  async start() {
    const env = { PATH: process.env.PATH, HOME: this.directory, LANG: "C.UTF-8" };
    Object.assign(env, {
      HOST: "127.0.0.1",
      PORT: String(this.port),
      INTERNAL_API_TOKEN: secret,
      TIDEMARK_AGENT: "demo",
      TIDEMARK_PERMISSIONS_ASK: "denied",
      TIDEMARK_DATA_DIR: join(this.directory, "data"),
      WORKSPACE_ROOT: join(this.directory, "workspaces"),
      SETTINGS_PATH: join(this.directory, "settings.json"),
      ...this.settings,
    });
    const child = spawn(join(this.#bin, "tidemark"), ["serve"], {
      env,
      cwd: this.directory,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    let said = "";
    let complained = "";
    child.stdout.on("data", (bytes) => (said += bytes));
    child.stderr.on("data", (bytes) => (complained = (complained + bytes).slice(-4000)));
    const listening = () => {
      if (child.exitCode !== null)
        throw new Error(`the server ended with ${child.exitCode}:\n${complained}`);
      return /listening on http:\/\/[^:]+:(\d+)/.exec(said);
    };
    this.port = Number((await until(listening, "the server to listen"))[1]);
  }

  /** As by a failure of the machine. */
  async kill() {
    await this.#end("SIGKILL");
  }

  async stop() {
    await this.#end("SIGTERM");
    rmSync(this.directory, { recursive: true, force: true });
  }

  async #end(signal) {
    const child = this.#child;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(signal);
    await ended;
  }

  async call(method, path, body) {
    const headers = { Authorization: `Bearer ${secret}` };
    if (body) headers["Content-Type"] = "application/json";
    const answer = await fetch(this.url + path, {
      method,
      headers,
      body: body && JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Submits a task; its turn. */
  async submit(workspace, prompt, source = "ci") {
    return (await this.call("POST", `/api/v1/workspaces/${workspace}/turns`, { prompt, source }))
      .turn;
  }

  async turn(workspace, turn) {
    return this.call("GET", `/api/v1/workspaces/${workspace}/turns/${turn}`);
  }

  /** Submits a task and waits for its end. */
  async run(workspace, prompt, source) {
    const turn = await this.submit(workspace, prompt, source);
    return until(async () => {
      const record = await this.turn(workspace, turn);
      return record.ended ? record : null;
    }, `the end of a turn of ${workspace}`);
  }

  /** Where further tokens are kept; for the setting `http.tokens_file`. */
  get tokens() {
    return join(this.directory, "tokens.json");
  }

  /** Makes a token of that name. */
  token(name, scope) {
    const rest = ["token", "create", name, "--scope", scope, "--http-tokens-file", this.tokens];
    const options = { cwd: this.directory, stdio: ["ignore", "pipe", "ignore"] };
    return execFileSync(join(this.#bin, "tidemark"), rest, options).toString().trim();
  }

  /** Puts a file where agents find it as `../../<name>`. */
  file(name, content) {
    writeFileSync(join(this.directory, name), content);
  }
}

/** The browser's program, or nothing. */
export function findChromium() {
  const places = [
    process.env.TIDEMARK_CHROMIUM,
    "/usr/bin/chromium",
    "/usr/bin/chromium-browser",
    "/usr/bin/google-chrome",
  ];
  return places.find((place) => place && existsSync(place));
}
