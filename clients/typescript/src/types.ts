import type { components } from "./api.js";

type Schemas = components["schemas"];

export type EventType = Event["type"];
/** The event of that type: `EventOf<"turn.completed">`. */
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;
/** What every event has. */
export type EventEnvelope = Schemas["EventEnvelope"];

/**
 * An event. Its `type` tells the form of its `data`. A newer server may have types that are not among these: such
 * events come through too, as an EventEnvelope, so a `switch` over `type` needs a default that does no harm.
 */
export type Event = Schemas["KnownEvent"];

/**
 * Stands between events where the stream cannot simply go on: what lies between `requested` and the next event
 * is not there. After `epoch` (the workspace was deleted and made again) and `trimmed` (removed by retention) the
 * stream goes on from `first`, after `ahead` behind `head`.
 */
export type Gap = Schemas["GapFrame"] & { type: "gap" };

export type Consumer = Schemas["Consumer"];
export type Turn = Schemas["Turn"];
export type TurnAccepted = Schemas["TurnAccepted"];
export type TurnCancelled = Schemas["TurnCancelled"];
export type TurnRequest = Schemas["TurnRequest"];
export type Permissions = Schemas["Permissions"];
export type PendingPermission = Schemas["PendingPermission"];
export type PermissionRule = Schemas["PermissionRule"];
export type DecisionRequest = Schemas["DecisionRequest"];
export type Decision = Schemas["Decision"];
export type Verification = Schemas["Verification"];
export type WorkspaceInfo = Schemas["Workspace"];
export type Health = Schemas["Health"];
export type Readiness = Schemas["Readiness"];
export type Problem = Schemas["Problem"];
export type GapFrame = Schemas["GapFrame"];
export type AuditPage = Schemas["AuditPage"];
export type AuditProgress = Schemas["AuditProgress"];
export type HelloFrame = Schemas["HelloFrame"];

/** `<epoch>-<offset>` or an offset: the last event that a reader has. 0: from the first event. */
export type Cursor = string | number;

/** The cursor of an event: what to give as `after` to go on behind it. */
export function cursorOf(event: { epoch: number; offset: number }): string {
  return `${event.epoch}-${event.offset}`;
}
