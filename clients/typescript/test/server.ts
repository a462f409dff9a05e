import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { Tidemark } from "../src/index.js";
import { checkedFetch, Schemas } from "./schemas.js";

const here = new URL(".", import.meta.url).pathname; // dist/test
const programs = process.env["TIDEMARK_TEST_BIN"] ?? resolve(here, "../../../../build/release/bin");
const startLimit = 30_000;

/** A real server with the demo agent, its data in a directory of its own. */
export class TestServer {
  readonly token = "token-of-the-tests";
  readonly #directory = mkdtempSync(join(tmpdir(), "tidemark-client-"));
  #process: ChildProcess | undefined;
  #port = "0";
  #output = "";
  schemas!: Schemas;

  static async start(): Promise<TestServer> {
    const server = new TestServer();
    await server.launch();
    try {
      const response = await fetch(`${server.url}/openapi.json`, {
        headers: { Authorization: `Bearer ${server.token}` },
      });
      server.schemas = new Schemas((await response.json()) as object);
    } catch (failure) {
      await server.end();
      throw failure;
    }
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A client whose answers are checked against the server's own description. */
  client(options: { token?: string; retryFor?: number; fetch?: typeof fetch } = {}): Tidemark {
    return new Tidemark({
      url: this.url,
      token: this.token,
      ...options,
      fetch: checkedFetch(this.schemas, options.fetch ?? fetch),
    });
  }

  /** On the port that it had before, if it had one. */
  async launch(): Promise<void> {
    const at = (name: string) => join(this.#directory, name);
    const before = this.#output.length;
    // So that a killed test leaves no server behind.
    const child = spawn("/usr/bin/setpriv", ["--pdeathsig", "KILL", join(programs, "tidemark"), "serve"], {
      cwd: this.#directory,
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: "/usr/local/bin:/usr/bin:/bin",
        HOME: this.#directory,
        HOST: "127.0.0.1",
        PORT: this.#port,
        INTERNAL_API_TOKEN: this.token,
        WORKSPACE_ROOT: at("workspaces"),
        SETTINGS_PATH: at("settings.json"),
        TIDEMARK_DATA_DIR: at("data"),
        TIDEMARK_AGENT: "demo",
        TIDEMARK_PERMISSIONS_ASK: "denied",
      },
    });
    this.#process = child;
    const listens = new Promise<string>((found, failed) => {
      const take = (bytes: Buffer) => {
        this.#output += bytes.toString();
        const port = /listening on http:\/\/[^:\s]+:(\d+)\s/.exec(this.#output.slice(before))?.[1];
        if (port !== undefined) found(port);
      };
      child.stdout?.on("data", take);
      child.stderr?.on("data", take);
      child.on("error", failed);
      child.on("exit", () => failed(new Error(`the server ended; it printed:\n${this.#output}`)));
      setTimeout(() => failed(new Error(`the server does not listen:\n${this.#output}`)), startLimit).unref();
    });
    this.#port = await listens;
  }

  /** As if the machine had died. */
  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async end(): Promise<void> {
    const child = this.#process;
    if (child && child.exitCode === null && child.signalCode === null) {
      child.removeAllListeners("exit");
      child.kill("SIGTERM"); // so that it ends its agents
      await once(child, "exit");
    }
    rmSync(this.#directory, { recursive: true, force: true, maxRetries: 10 });
  }
}
