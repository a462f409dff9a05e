import type { Gap, Problem } from "./types.js";

export interface ErrorFacts {
  /** For programs: `not_found`, `unauthorized`, `unreachable`, … */
  code: string;
  /** The HTTP status; 0 if there was no answer. */
  status: number;
  /** For people. */
  detail: string;
  /** Whether the same call may succeed later. */
  retryable: boolean;
  /** How long the server asked to wait, in milliseconds. */
  retryAfter?: number | undefined;
  /** The server's problem details. */
  problem?: Problem | undefined;
  cause?: unknown;
}

/** A call that failed: refused by the server, or without an answer. */
export class TidemarkError extends Error {
  override readonly name: string = "TidemarkError";
  readonly code: string;
  readonly status: number;
  readonly detail: string;
  readonly retryable: boolean;
  readonly retryAfter: number | undefined;
  readonly problem: Problem | undefined;

  constructor(facts: ErrorFacts) {
    super(`${facts.detail} (${facts.code})`, { cause: facts.cause });
    this.code = facts.code;
    this.status = facts.status;
    this.detail = facts.detail;
    this.retryable = facts.retryable;
    this.retryAfter = facts.retryAfter;
    this.problem = facts.problem;
  }
}

/** The events that a reader asked for are not all there; see `gap`. */
export class GapError extends TidemarkError {
  override readonly name = "GapError";
  readonly gap: Gap;

  constructor(gap: Gap) {
    super({
      code: gap.reason,
      status: 200,
      detail: `the events after ${gap.requested} are not there: the stream has ${gap.epoch}-${gap.first} to ${gap.epoch}-${gap.head}`,
      retryable: false,
    });
    this.gap = gap;
  }
}

/** No connection, or one that broke. */
export function unreachable(cause: unknown): TidemarkError {
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  const why = inner instanceof Error ? inner.message : String(inner);
  return new TidemarkError({
    code: "unreachable",
    status: 0,
    detail: `no answer from the server: ${why}`,
    retryable: true,
    cause,
  });
}

/** What came cannot be what the server sent. */
export function protocolError(detail: string): TidemarkError {
  return new TidemarkError({ code: "protocol", status: 200, detail, retryable: true });
}

const worthRetrying = new Set([408, 429, 502, 503, 504]);

/** `Retry-After` in milliseconds: seconds, or a date. */
function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}

/** What an answer other than the expected one means. Proxies answer in forms of their own. */
export async function errorOf(response: Response): Promise<TidemarkError> {
  const text = await response.text().catch(() => "");
  let body: Record<string, any> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) body = parsed;
  } catch {
    // Not of the server: the status has to do.
  }
  const v1 = body["error"];
  const isProblem = typeof body["code"] === "string" && typeof body["detail"] === "string";
  return new TidemarkError({
    code: isProblem ? body["code"] : (v1?.code ?? `http_${response.status}`),
    status: response.status,
    detail: isProblem ? body["detail"] : (v1?.message ?? `the server answered ${response.status}`),
    retryable: worthRetrying.has(response.status) || body["retryable"] === true || v1?.retryable === true,
    retryAfter: retryAfterOf(response.headers.get("retry-after")),
    problem: isProblem ? (body as Problem) : undefined,
  });
}

/** A problem that came as the last frame of a stream. */
export function errorOfProblem(problem: Problem): TidemarkError {
  return new TidemarkError({
    code: problem.code,
    status: problem.status,
    detail: problem.detail,
    retryable: problem.retryable === true || worthRetrying.has(problem.status),
    problem,
  });
}
