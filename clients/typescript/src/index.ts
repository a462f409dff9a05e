export { Tidemark, type AuditSelection, type SearchOptions, type TidemarkOptions } from "./client.js";
export { GapError, TidemarkError } from "./errors.js";
export type { EventOptions, Reading, Selection } from "./reader.js";
export { cursorOf } from "./types.js";
export type {
  Consumer, Cursor, Decision, DecisionRequest, Event, EventEnvelope, EventOf, EventType, Gap, Health, PendingPermission,
  PermissionRule, Permissions, Problem, Readiness, Turn, TurnAccepted, TurnCancelled, Verification, WorkspaceInfo,
} from "./types.js";
export { verifyWebhook, type VerifyOptions } from "./webhooks.js";
export { Workspace, type CallOptions, type DecideOptions, type SubmitOptions, type TurnsOptions } from "./workspace.js";
export type { components, paths } from "./api.js";
