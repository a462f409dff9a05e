/** An event as the server sends it (docs/events.md). Unknown types and fields must not break us. */
export interface Envelope {
  workspace: string;
  epoch: number;
  offset: number;
  position: number;
  time: string;
  type: string;
  turn?: string;
  data: Record<string, unknown>;
  raw?: string;
  hash?: string;
}

export interface WorkspaceInfo {
  id: string;
  path: string;
  created_at: string;
  updated_at: string;
  session_id: string | null;
  status: "idle" | "busy";
}

export interface Task {
  task_id: string;
  source_chat_key: string;
  prompt_preview: string;
  enqueued_at: string;
  started_at: string | null;
}

export interface Queue {
  current_task: Task | null;
  queue_length: number;
  queued_tasks: Task[];
}

/** A page of events of all workspaces. */
export interface AuditPage {
  events: Envelope[];
  next: string;
  head: number;
  complete: boolean;
}

/** A page of events of one workspace. */
export interface StreamPage {
  events: Envelope[];
  epoch: number;
  head: number;
  first: number;
}
