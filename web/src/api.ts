import { signal } from "@preact/signals";

const tokenKey = "tidemark.token";

/** Kept until the tab is closed; never in the address, never in a cookie. */
export const token = signal(sessionStorage.getItem(tokenKey) ?? "");
/** What the server said when it asked for a token; empty while it is content. */
export const tokenAsked = signal<string | null>(null);

export function useToken(value: string): void {
  sessionStorage.setItem(tokenKey, value);
  token.value = value;
  tokenAsked.value = null;
}

export function forgetToken(): void {
  sessionStorage.removeItem(tokenKey);
  token.value = "";
  tokenAsked.value = "";
}

/** Why a call failed, in the server's own words. */
export class CallError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

export function authorization(): Record<string, string> {
  return token.value ? { Authorization: `Bearer ${token.value}` } : {};
}

export async function refusal(answer: Response): Promise<CallError> {
  const body = await answer.text().catch(() => "");
  let detail = body.slice(0, 300);
  try {
    const problem = JSON.parse(body) as { detail?: string; error?: { message?: string } };
    detail = problem.detail ?? problem.error?.message ?? detail;
  } catch {
    // Something before the server answered, in its own form.
  }
  if (answer.status === 401) tokenAsked.value = token.value ? detail : "";
  return new CallError(answer.status, detail || `HTTP ${answer.status}`);
}

interface CallOptions {
  method?: string;
  body?: unknown;
  signal?: AbortSignal;
  headers?: Record<string, string>;
}

async function answerTo(path: string, options: CallOptions): Promise<Response> {
  const headers: Record<string, string> = { ...authorization(), ...options.headers };
  if (options.body !== undefined) headers["Content-Type"] = "application/json";
  const answer = await fetch(path, {
    method: options.method ?? "GET",
    headers,
    body: options.body === undefined ? undefined : JSON.stringify(options.body),
    signal: options.signal,
    cache: "no-store",
  });
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

export async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
  return (await (await answerTo(path, options)).json()) as T;
}

export async function callText(path: string, options: CallOptions = {}): Promise<string> {
  return await (await answerTo(path, options)).text();
}

export function workspacePath(id: string, rest = ""): string {
  return `/api/v1/workspaces/${encodeURIComponent(id)}${rest}`;
}

export function query(values: Record<string, string | number | boolean | undefined>): string {
  const out = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== "" && value !== false) out.set(name, String(value));
  }
  const text = out.toString();
  return text ? `?${text}` : "";
}

/** The same call for a terminal; the token is left to a variable. */
export function asCurl(path: string, headers: Record<string, string> = {}): string {
  const quote = (value: string) => `'${value.replaceAll("'", `'\\''`)}'`;
  const all = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  if (token.value) all.unshift('-H "Authorization: Bearer $TIDEMARK_TOKEN"');
  return ["curl -sN", ...all, quote(location.origin + path)].join(" ");
}
