import type { Envelope } from "../types";
import { fields, flatText, number, text } from "../values";

/** What the agent said or did, and what became of it. */
export interface Item {
  form: "item";
  id: string;
  kind: string; // message, reasoning, tool_call, tool_result, status, or one to come
  name: string;
  text: string;
  input: unknown;
  output: string | null; // of a tool call, once its result is there
  failed: boolean;
  status: string; // in_progress, completed, failed, interrupted
  parent: string;
  started: string;
  ended: string | null;
  offset: number;
  permission: Permission | null;
  revision: number; // counts changes, so that a view knows what to draw anew
}

export interface Permission {
  id: string;
  tool: string;
  input: unknown;
  description: string;
  kind: string; // permission, question
  expires: string; // until when a person may decide; empty: no person is asked
  always: string; // what "always" would allow
  questions: Question[];
  decision: string; // empty: nobody has decided
  by: string;
  message: string;
  offset: number;
}

export interface Question {
  text: string;
  header: string; // what it is about, in a word
  options: { label: string; about: string }[];
  many: boolean; // several may be chosen
}

/** Something that happened and is said in a line. */
export interface Notice {
  form: "notice";
  type: string;
  data: Record<string, unknown>;
  time: string;
  offset: number;
  revision: number;
}

export type Entry = Item | Notice;

/** One task and everything that belongs to it; id "" for what belongs to none. */
export interface Turn {
  id: string;
  workspace: string;
  prompt: string;
  source: string;
  by: string;
  queued: string | null;
  started: string | null;
  ended: string | null;
  attempt: number;
  outcome: string; // empty until it has ended
  error: { code: string; message: string; details: unknown } | null;
  result: string;
  usage: Record<string, unknown>;
  cost: number;
  duration: number;
  entries: Entry[];
  offset: number;
  end: number; // offset of the event that ended it; 0 until then
  changes: FileChanged[]; // what it left otherwise than it found it, if that was recorded
  revision: number;
}

/** A file that a turn left otherwise than it found it. */
export interface FileChanged {
  path: string;
  change: string; // created, changed, deleted
  added: number; // lines
  removed: number;
}

/** A conversation at one place of its stream. Changed in place by `apply`; `revision` counts that. */
export interface Conversation {
  epoch: number;
  offset: number; // of the last event that was applied
  turns: Turn[]; // in the order of their first event
  agent: string;
  policy: string;
  model: string;
  session: string;
  cost: number;
  revision: number;
  byTurn: Map<string, Turn>;
  byItem: Map<string, { item: Item; turn: Turn }>;
  byPermission: Map<string, { permission: Permission; turn: Turn; item: Item | null }>;
}

export function emptyConversation(): Conversation {
  return {
    epoch: 0,
    offset: 0,
    turns: [],
    agent: "",
    policy: "",
    model: "",
    session: "",
    cost: 0,
    revision: 0,
    byTurn: new Map(),
    byItem: new Map(),
    byPermission: new Map(),
  };
}

/** The conversation as it was at `offset`. */
export function conversationAt(events: readonly Envelope[], offset: number): Conversation {
  const out = emptyConversation();
  for (const event of events) {
    if (event.offset > offset) break;
    apply(out, event);
  }
  return out;
}

/** Takes the next event. One that was taken before changes nothing: false. */
export function apply(to: Conversation, event: Envelope): boolean {
  if (event.epoch === to.epoch && event.offset <= to.offset) return false;
  if (event.epoch !== to.epoch)
    Object.assign(to, emptyConversation(), { epoch: event.epoch, revision: to.revision });
  to.offset = event.offset;
  to.revision += 1;
  const [family] = event.type.split(".");
  if (family === "turn") applyTurn(to, event);
  else if (family === "item") applyItem(to, event);
  else if ((family === "permission" && event.type !== "permission.rule") || family === "question")
    applyPermission(to, event);
  else applyNotice(to, event);
  return true;
}

function turnOf(to: Conversation, event: Envelope): Turn {
  const id = event.turn ?? "";
  const last = to.turns.at(-1);
  const known = id ? to.byTurn.get(id) : last?.id === "" ? last : undefined;
  if (known) {
    known.revision += 1;
    return known;
  }
  const turn: Turn = {
    id,
    workspace: event.workspace,
    prompt: "",
    source: "",
    by: "",
    queued: null,
    started: null,
    ended: null,
    attempt: 1,
    outcome: "",
    error: null,
    result: "",
    usage: {},
    cost: 0,
    duration: 0,
    entries: [],
    offset: event.offset,
    end: 0,
    changes: [],
    revision: 0,
  };
  to.turns.push(turn);
  if (id) to.byTurn.set(id, turn);
  return turn;
}

function applyTurn(to: Conversation, event: Envelope): void {
  const turn = turnOf(to, event);
  const data = event.data;
  if (event.type === "turn.queued") {
    turn.prompt = text(data.prompt) || text(data.prompt_preview);
    turn.source = text(data.source);
    turn.by = text(data.by);
    turn.queued = event.time;
  } else if (event.type === "turn.started") {
    turn.started = event.time;
    turn.attempt = number(data.attempt) || 1;
    to.agent = text(fields(data.agent).name) || to.agent;
    to.policy = text(data.policy) || to.policy;
  } else if (event.type === "turn.changes") {
    turn.changes = changesOf(data.files);
  } else if (event.type === "turn.completed") {
    turn.ended = event.time;
    turn.end = event.offset;
    turn.outcome = text(data.outcome);
    turn.result = text(data.text);
    turn.usage = fields(data.usage);
    turn.cost = number(data.cost_usd);
    turn.duration = number(data.duration_ms);
    to.cost += turn.cost;
    if (data.error) {
      const error = fields(data.error);
      turn.error = {
        code: text(error.code),
        message: text(error.message),
        details: error.details ?? null,
      };
    }
  }
}

function changesOf(files: unknown): FileChanged[] {
  if (!Array.isArray(files)) return [];
  return files.map((each) => {
    const file = fields(each);
    return {
      path: text(file.path),
      change: text(file.change),
      added: number(file.added),
      removed: number(file.removed),
    };
  });
}

function applyItem(to: Conversation, event: Envelope): void {
  const turn = turnOf(to, event);
  if (event.type === "item.delta") {
    const known = to.byItem.get(text(event.data.item));
    if (!known) return;
    known.item.text += text(event.data.text);
    known.item.revision += 1;
    return;
  }
  const said = fields(event.data.item);
  if (text(said.kind) === "tool_result" && takeResult(to, event, said)) return;
  const id = text(said.id);
  let item = to.byItem.get(id)?.item;
  if (!item) {
    item = newItem(id, event);
    turn.entries.push(item);
    to.byItem.set(id, { item, turn });
  }
  update(item, said);
  if (event.type === "item.completed") item.ended = event.time;
}

function newItem(id: string, event: Envelope): Item {
  return {
    form: "item",
    id,
    kind: "",
    name: "",
    text: "",
    input: undefined,
    output: null,
    failed: false,
    status: "in_progress",
    parent: "",
    started: event.time,
    ended: null,
    offset: event.offset,
    permission: null,
    revision: 0,
  };
}

function update(item: Item, said: Record<string, unknown>): void {
  item.kind = text(said.kind) || item.kind;
  item.name = text(said.name) || item.name;
  item.parent = text(said.parent) || item.parent;
  item.status = text(said.status) || item.status;
  if (said.input !== undefined) item.input = said.input;
  if (said.text !== undefined) item.text = text(said.text);
  if (said.content !== undefined) item.output = flatText(said.content);
  item.failed = said.is_error === true || item.status === "failed";
  item.revision += 1;
}

/** A result is shown with its call. False if the call is not there, as in the middle of a stream. */
function takeResult(to: Conversation, event: Envelope, said: Record<string, unknown>): boolean {
  const known = to.byItem.get(text(said.call));
  if (!known) return false;
  known.turn.revision += 1;
  if (event.type !== "item.completed") return true;
  known.item.output = flatText(said.content);
  known.item.failed = said.is_error === true;
  known.item.ended = event.time;
  known.item.revision += 1;
  return true;
}

function applyPermission(to: Conversation, event: Envelope): void {
  const turn = turnOf(to, event);
  const id = text(event.data.permission);
  const known = to.byPermission.get(id);
  if (event.type.endsWith(".resolved")) {
    if (!known) return;
    known.permission.decision = text(event.data.decision);
    known.permission.by = text(event.data.by);
    known.permission.message = text(event.data.message);
    known.turn.revision += 1;
    if (known.item) known.item.revision += 1;
    return;
  }
  const item = to.byItem.get(text(event.data.item))?.item ?? null;
  const permission: Permission = {
    id,
    tool: text(event.data.tool),
    input: event.data.input,
    description: text(event.data.description),
    kind: event.type.startsWith("question") ? "question" : "permission",
    expires: text(event.data.expires_at),
    always: scopeOf(event.data.always),
    questions: questionsOf(event.data.input),
    decision: "",
    by: "",
    message: "",
    offset: event.offset,
  };
  if (item) {
    item.permission = permission;
    item.revision += 1;
  }
  to.byPermission.set(id, { permission, turn, item });
}

function scopeOf(always: unknown): string {
  const scope = fields(always);
  return [text(scope.tool), text(scope.command)].filter(Boolean).join(" ");
}

export function questionsOf(input: unknown): Question[] {
  const { questions } = fields(input);
  if (!Array.isArray(questions)) return [];
  return questions.map((each) => {
    const given = fields(each);
    const options = Array.isArray(given.options) ? given.options : [];
    return {
      text: text(given.question),
      header: text(given.header),
      options: options
        .map(fields)
        .map((option) => ({ label: text(option.label), about: text(option.description) }))
        .filter((option) => option.label),
      many: given.multiSelect === true,
    };
  });
}

const silent = new Set(["workspace.created", "result.pending", "result.delivered"]);

function applyNotice(to: Conversation, event: Envelope): void {
  if (event.type === "session.started") {
    const changed = text(event.data.session) !== to.session || text(event.data.model) !== to.model;
    to.session = text(event.data.session);
    to.model = text(event.data.model);
    if (!changed) return;
  }
  if (event.type === "workspace.created") {
    to.agent = text(event.data.agent);
    to.policy = text(event.data.policy);
  }
  if (silent.has(event.type)) return;
  turnOf(to, event).entries.push({
    form: "notice",
    type: event.type,
    data: event.data,
    time: event.time,
    offset: event.offset,
    revision: 0,
  });
}

/** Requests that nobody has decided, oldest first. */
export function openPermissions(of: Conversation): { permission: Permission; turn: Turn }[] {
  return [...of.byPermission.values()].filter(
    (each) => !each.permission.decision && !each.turn.outcome,
  );
}
