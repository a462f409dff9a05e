"""What the server's calls take and give. Made by generate_types.py from docs/openapi.yaml."""
from __future__ import annotations

from typing import Any, Dict, List, Literal, Optional, TypedDict, Union

ConsumerName = str
Cursor = str
GapReason = Literal["epoch", "trimmed", "ahead"]
MessageFrame = Dict[str, Any]
ShellClientMessage = Dict[str, Any]
ShellServerMessage = Dict[str, Any]
Synthetic = bool
Time = str
TurnId = str
TurnStatus = Literal["queued", "running", "succeeded", "failed", "cancelled", "interrupted"]
WorkspaceId = str


class _Problem(TypedDict):
    type: str
    title: str
    status: int
    detail: str
    code: str


class Problem(_Problem, total=False):
    """Problem details (RFC 9457)."""
    err_id: str
    retryable: bool
    limit: str
    error: ErrorInfo
    reason: GapReason
    requested: Cursor
    first: int
    head: int
    epoch: int


class ErrorInfo(TypedDict):
    err_id: str
    code: str
    message: str
    retryable: bool
    details: Optional[Dict[str, Any]]


class V1Error(TypedDict):
    error: ErrorInfo


class Health(TypedDict):
    status: Literal["healthy"]
    version: str


class Readiness(TypedDict):
    status: Literal["ready", "not_ready"]
    reasons: List[str]


class _TurnRequest(TypedDict):
    prompt: str


class TurnRequest(_TurnRequest, total=False):
    source: Optional[str]
    env: Optional[Dict[str, str]]
    model: Optional[str]
    on_restart: Optional[Literal["interrupt", "retry", ""]]
    timeout_s: Optional[int]
    metadata: Optional[Dict[str, Any]]


class TurnAccepted(TypedDict):
    turn: TurnId
    offset: int
    position: int
    epoch: int
    place: int
    repeated: bool


class TurnCancelled(TypedDict):
    turn: TurnId
    cancelled: bool


class Turn(TypedDict):
    turn: TurnId
    status: TurnStatus
    queued_at: int
    enqueued: Time
    started: Optional[Time]
    ended: Optional[Time]
    source: str
    prompt_preview: str
    model: str
    idempotency_key: str
    metadata: Optional[Dict[str, Any]]
    attempt: int
    text: Optional[str]
    error: Optional[TurnError]
    usage: Optional[Usage]
    cost_usd: Optional[float]
    stop_reason: Optional[str]
    duration_ms: Optional[int]
    exit: Optional[Exit]
    denials: Optional[List[Denial]]


class TurnPage(TypedDict):
    turns: List[Turn]
    next: Optional[str]


class Permissions(TypedDict):
    pending: List[PendingPermission]
    rules: List[PermissionRule]


class AllPermissions(TypedDict):
    pending: List[PendingPermission]


class _PendingPermission(TypedDict):
    permission: str
    tool: str
    input: Dict[str, Any]
    expires_at: Time
    workspace: WorkspaceId
    turn: TurnId
    kind: Literal["permission", "question"]
    requested_at: Time


class PendingPermission(_PendingPermission, total=False):
    """The data of the request's event, and where it belongs."""
    suggestions: List[Any]
    description: str
    title: str
    reason: str
    blocked_path: str
    tool_use_id: str
    item: str
    timeout_s: int
    always: RuleScope


class PermissionRule(TypedDict):
    rule: str
    tool: str
    command: Optional[str]
    by: str
    since: Time


class _DecisionRequest(TypedDict):
    decision: Literal["allow", "allow_always", "deny"]


class DecisionRequest(_DecisionRequest, total=False):
    message: Optional[str]
    answers: Optional[Dict[str, str]]


class Decision(TypedDict):
    permission: str
    decision: Literal["allow", "deny"]
    by: str
    rule: Optional[str]


class RuleRemoved(TypedDict):
    rule: str
    removed: bool


class TurnError(TypedDict):
    code: str
    message: str
    retryable: bool
    details: Optional[Dict[str, Any]]


class Usage(TypedDict):
    """Tokens; `input` without what came from or went to the cache."""
    input: int
    output: int
    cache_read: int
    cache_write: int


class Exit(TypedDict):
    code: Optional[int]
    signal: Optional[int]


class _Denial(TypedDict):
    tool: str
    tool_use_id: str
    input: Dict[str, Any]


class Denial(_Denial, total=False):
    message: str


class AuditPage(TypedDict):
    events: List[Event]
    next: Cursor
    head: int
    looked_at: int
    complete: bool


class AuditProgress(TypedDict):
    position: int
    head: int
    looked_at: int


class EventPage(TypedDict):
    events: List[Event]
    epoch: int
    head: int
    first: int
    next: Cursor
    ended: bool


class Acknowledgement(TypedDict):
    offset: Any


class _Consumer(TypedDict):
    workspace: WorkspaceId
    name: ConsumerName
    epoch: int
    offset: int
    cursor: Cursor
    head: int
    lag: int
    created: Time
    by: str
    acked: Any


class Consumer(_Consumer, total=False):
    webhook: WebhookTarget


class WebhookTarget(TypedDict):
    """Only of a consumer that events are pushed to."""
    url: str
    url_fingerprint: str
    secret: str
    types: List[str]
    max_attempts: int
    state: Literal["active", "dead"]
    error: Optional[str]
    attempts: int
    failed: Any
    next_attempt: Any


class _Webhook(TypedDict):
    workspace: WorkspaceId
    name: ConsumerName
    epoch: int
    offset: int
    cursor: Cursor
    head: int
    lag: int
    created: Time
    by: str
    acked: Any


class Webhook(_Webhook, total=False):
    webhook: WebhookTarget
    secret: str


class WebhookList(TypedDict):
    webhooks: List[Webhook]


class ConsumerList(TypedDict):
    consumers: List[Consumer]


class Verification(TypedDict):
    workspace: WorkspaceId
    epoch: int
    checked: int
    ok: bool
    first_bad: Optional[int]
    problem: str
    head: int
    trimmed: int
    hash: Optional[str]
    past_epochs: List[Dict[str, Any]]
    first: int
    removed: Dict[str, Any]


class Checkpoint(TypedDict):
    version: int
    log_epoch: int
    position: int
    time: str
    streams: List[Dict[str, Any]]


class Backup(TypedDict):
    version: int
    id: str
    time: str
    log_epoch: int
    position: int
    files: List[Dict[str, Any]]


class Retention(TypedDict, total=False):
    """What is kept of one workspace. What is absent or null is as the server's settings have it; 0 keeps everything."""
    age_s: Optional[int]
    bytes: Optional[int]
    turns: Optional[int]
    deltas_s: Optional[int]


class WorkspaceChange(TypedDict, total=False):
    retain: Retention


class WorkspaceConfiguration(TypedDict):
    workspace: WorkspaceId
    retain: Retention


class HelloFrame(TypedDict):
    epoch: int
    head: int
    first: int
    resumed_after: int


class GapFrame(TypedDict):
    """What lies between the reader's cursor and the next event is not there. After `epoch` and `trimmed` the"""
    reason: GapReason
    requested: Cursor
    first: int
    head: int
    epoch: int


class EndFrame(TypedDict):
    epoch: int
    head: int


class OverloadFrame(TypedDict):
    reason: str


class _EventEnvelope(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: str
    data: Dict[str, Any]


class EventEnvelope(_EventEnvelope, total=False):
    turn: TurnId
    raw: str
    hash: str


class _WorkspaceCreated(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["workspace.created"]
    data: WorkspaceCreatedData


class WorkspaceCreated(_WorkspaceCreated, total=False):
    """The first event of a workspace."""
    turn: TurnId
    raw: str
    hash: str


class WorkspaceCreatedData(TypedDict):
    id: WorkspaceId
    agent: str
    policy: str
    metadata: Dict[str, Any]


class _TurnQueued(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["turn.queued"]
    turn: TurnId
    data: TurnQueuedData


class TurnQueued(_TurnQueued, total=False):
    """A turn was accepted, or waits again after a restart of the server (`again`)."""
    raw: str
    hash: str


class _TurnQueuedData(TypedDict):
    turn: TurnId
    source: str
    prompt_preview: str
    position: int


class TurnQueuedData(_TurnQueuedData, total=False):
    by: str
    prompt: str
    options: TurnOptions
    idempotency_key: str
    body_hash: str
    attempt: int
    again: bool


class TurnOptions(TypedDict):
    model: str
    on_restart: Literal["interrupt", "retry"]
    timeout_s: Optional[int]
    holds_result: bool
    metadata: Optional[Dict[str, Any]]
    env_names: List[str]


class _TurnStarted(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["turn.started"]
    turn: TurnId
    data: TurnStartedData


class TurnStarted(_TurnStarted, total=False):
    """The turn was handed to the agent."""
    raw: str
    hash: str


class _TurnStartedData(TypedDict):
    turn: TurnId
    attempt: int
    session: Optional[str]
    agent: Dict[str, Any]
    policy: str
    isolation: str


class TurnStartedData(_TurnStartedData, total=False):
    start: str


class _TurnChanges(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["turn.changes"]
    turn: TurnId
    data: TurnChangesData


class TurnChanges(_TurnChanges, total=False):
    """What the turn changed in the files of its workspace, if that is recorded (`agent.snapshots`)."""
    raw: str
    hash: str


class TurnChangesData(TypedDict, total=False):
    """Either what is known, or `problem`."""
    files: List[ChangedFile]
    count: int
    incomplete: bool
    problem: str


class ChangedFile(TypedDict):
    path: str
    change: Literal["created", "changed", "deleted"]
    added: Optional[int]
    removed: Optional[int]


class _TurnCompleted(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["turn.completed"]
    turn: TurnId
    data: TurnCompletedData


class TurnCompleted(_TurnCompleted, total=False):
    """The turn has ended. Exactly once a turn."""
    raw: str
    hash: str


class _TurnCompletedData(TypedDict):
    turn: TurnId
    outcome: Literal["succeeded", "failed", "cancelled", "interrupted"]
    text: str
    error: Optional[TurnError]
    stop_reason: str
    usage: Usage
    model: str
    cost_usd: float
    denials: List[Denial]
    duration_ms: int


class TurnCompletedData(_TurnCompletedData, total=False):
    by: str
    exit: Exit
    session: str


class _SessionStarted(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["session.started"]
    data: SessionStartedData


class SessionStarted(_SessionStarted, total=False):
    """The agent's conversation begins or changes."""
    turn: TurnId
    raw: str
    hash: str


class _SessionStartedData(TypedDict):
    session: Optional[str]


class SessionStartedData(_SessionStartedData, total=False):
    resumed: bool
    follows: str
    model: str
    tools: List[str]
    mcp_servers: List[McpServer]
    agent_version: str
    permission_mode: str
    synthetic: Synthetic


class _McpServer(TypedDict):
    name: str
    status: str


class McpServer(_McpServer, total=False):
    error: str
    workspace_id: str


class _SessionLost(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["session.lost"]
    data: SessionLostData


class SessionLost(_SessionLost, total=False):
    """The agent no longer knows the conversation; a fresh one follows."""
    turn: TurnId
    raw: str
    hash: str


class SessionLostData(TypedDict):
    session: str
    reason: str


class _SessionForgotten(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["session.reset"]
    data: SessionForgottenData


class SessionForgotten(_SessionForgotten, total=False):
    """A client asked for a new conversation."""
    turn: TurnId
    raw: str
    hash: str


class SessionForgottenData(TypedDict):
    session: Optional[str]
    by: str


class _Item(TypedDict):
    id: str
    kind: str
    status: str


class Item(_Item, total=False):
    """Something that the agent says or does."""
    role: str
    parent: str
    native_id: str
    name: str
    input: Dict[str, Any]
    tool_use_id: str
    call: str
    is_error: bool
    content: str
    text: str
    truncated: bool
    size: int


class _ItemStarted(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["item.started"]
    data: ItemData


class ItemStarted(_ItemStarted, total=False):
    turn: TurnId
    raw: str
    hash: str


class _ItemCompleted(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["item.completed"]
    data: ItemData


class ItemCompleted(_ItemCompleted, total=False):
    """Every started item is completed exactly once, before its turn ends."""
    turn: TurnId
    raw: str
    hash: str


class _ItemData(TypedDict):
    item: Item


class ItemData(_ItemData, total=False):
    synthetic: Synthetic


class _ItemDelta(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["item.delta"]
    data: ItemDeltaData


class ItemDelta(_ItemDelta, total=False):
    """A further piece of an item's text; joined, the pieces are its completed text."""
    turn: TurnId
    raw: str
    hash: str


class _ItemDeltaData(TypedDict):
    item: str
    text: str


class ItemDeltaData(_ItemDeltaData, total=False):
    truncated: bool
    size: int
    removed: bool


class _PermissionRequested(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["permission.requested"]
    data: PermissionRequestedData


class PermissionRequested(_PermissionRequested, total=False):
    """A tool call waits for a decision."""
    turn: TurnId
    raw: str
    hash: str


class _PermissionRequestedData(TypedDict):
    permission: str
    tool: str
    input: Dict[str, Any]


class PermissionRequestedData(_PermissionRequestedData, total=False):
    suggestions: List[Any]
    description: str
    title: str
    reason: str
    blocked_path: str
    tool_use_id: str
    item: str
    timeout_s: int
    expires_at: Time
    always: RuleScope


class RuleScope(TypedDict):
    """What `allow_always` would allow."""
    tool: str
    command: str
    fingerprint: str


class _PermissionResolved(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["permission.resolved"]
    data: PermissionResolvedData


class PermissionResolved(_PermissionResolved, total=False):
    """Exactly once a request."""
    turn: TurnId
    raw: str
    hash: str


class _PermissionResolvedData(TypedDict):
    permission: str
    decision: str
    by: str


class PermissionResolvedData(_PermissionResolvedData, total=False):
    tool: str
    via: str
    policy: str
    rule: str
    answers: Dict[str, Any]
    message: str
    synthetic: Synthetic


class _PermissionRuleChanged(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["permission.rule"]
    data: PermissionRuleData


class PermissionRuleChanged(_PermissionRuleChanged, total=False):
    """A person allows something for good in this workspace, or no longer."""
    turn: TurnId
    raw: str
    hash: str


class _PermissionRuleData(TypedDict):
    rule: str
    change: Literal["added", "removed"]
    tool: str
    command: str
    by: str


class PermissionRuleData(_PermissionRuleData, total=False):
    fingerprint: str


class _QuestionRequested(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["question.requested"]
    data: PermissionRequestedData


class QuestionRequested(_QuestionRequested, total=False):
    """The agent asks people; `input.questions` says what."""
    turn: TurnId
    raw: str
    hash: str


class _QuestionResolved(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["question.resolved"]
    data: PermissionResolvedData


class QuestionResolved(_QuestionResolved, total=False):
    """Exactly once a question."""
    turn: TurnId
    raw: str
    hash: str


class _AgentRetrying(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["agent.retrying"]
    data: AgentRetryingData


class AgentRetrying(_AgentRetrying, total=False):
    """The model's API is overloaded or the like, and the agent tries again."""
    turn: TurnId
    raw: str
    hash: str


class AgentRetryingData(TypedDict):
    attempt: int
    max: int
    delay_ms: int
    status: int
    error: str


class _AgentNotice(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["agent.notice"]
    data: AgentNoticeData


class AgentNotice(_AgentNotice, total=False):
    """Limits, MCP servers, compaction, background tasks; further members depend on the code."""
    turn: TurnId
    raw: str
    hash: str


class AgentNoticeData(TypedDict):
    code: str
    text: str


class _AgentOpaque(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["agent.opaque"]
    data: AgentOpaqueData


class AgentOpaque(_AgentOpaque, total=False):
    """A valid line that there is no form for; `raw` holds it."""
    turn: TurnId
    raw: str
    hash: str


class _AgentOpaqueData(TypedDict):
    type: str


class AgentOpaqueData(_AgentOpaqueData, total=False):
    subtype: str
    late: bool
    truncated: bool
    size: int


class _AgentNoise(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["agent.noise"]
    data: AgentNoiseData


class AgentNoise(_AgentNoise, total=False):
    """Output that is not the protocol."""
    turn: TurnId
    raw: str
    hash: str


class _AgentNoiseData(TypedDict):
    text: str


class AgentNoiseData(_AgentNoiseData, total=False):
    truncated: bool
    size: int


class _ResultPending(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["result.pending"]
    data: ResultPendingData


class ResultPending(_ResultPending, total=False):
    """The turn's result is held for its client."""
    turn: TurnId
    raw: str
    hash: str


class ResultPendingData(TypedDict):
    turn: str
    ttl_s: int


class _ResultDelivered(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["result.delivered"]
    data: ResultDeliveredData


class ResultDelivered(_ResultDelivered, total=False):
    turn: TurnId
    raw: str
    hash: str


class _ResultDeliveredData(TypedDict):
    turn: str
    via: str


class ResultDeliveredData(_ResultDeliveredData, total=False):
    by: str


class _ShellOpened(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["shell.opened"]
    data: ShellOpenedData


class ShellOpened(_ShellOpened, total=False):
    turn: TurnId
    raw: str
    hash: str


class ShellOpenedData(TypedDict):
    shell: str
    argv: List[str]
    cwd: str
    pid: int
    by: str


class _ShellClosed(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["shell.closed"]
    data: ShellClosedData


class ShellClosed(_ShellClosed, total=False):
    """Exactly once a shell."""
    turn: TurnId
    raw: str
    hash: str


class _ShellClosedData(TypedDict):
    shell: str
    reason: str
    exit: Optional[Exit]


class ShellClosedData(_ShellClosedData, total=False):
    by: str
    synthetic: Synthetic


class _WebhookDead(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["webhook.dead"]
    data: WebhookDeadData


class WebhookDead(_WebhookDead, total=False):
    """A webhook is given up until it is revived."""
    turn: TurnId
    raw: str
    hash: str


class WebhookDeadData(TypedDict):
    webhook: ConsumerName
    offset: int
    attempts: int
    error: str


class _Fault(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["fault"]
    data: FaultData


class Fault(_Fault, total=False):
    """A part of the server failed and was started again."""
    turn: TurnId
    raw: str
    hash: str


class FaultData(TypedDict):
    component: str
    message: str


class _EventsRemoved(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["events.removed"]
    data: EventsRemovedData


class EventsRemoved(_EventsRemoved, total=False):
    """Retention removes events, or the text of deltas. Written before it does."""
    turn: TurnId
    raw: str
    hash: str


_EventsRemovedData = TypedDict("_EventsRemovedData", {
    "what": 'Literal["turns", "deltas"]',
    "from": 'int',
    "to": 'int',
    "count": 'int',
    "bytes": 'int',
    "reason": 'Literal["age", "bytes", "turns", "deltas"]',
    "policy": 'Retention',
})


_EventsRemovedDataRest = TypedDict("_EventsRemovedDataRest", {
    "hash": 'str',
}, total=False)


class EventsRemovedData(_EventsRemovedData, _EventsRemovedDataRest):
    pass


class _WorkspaceConfigured(TypedDict):
    workspace: WorkspaceId
    epoch: int
    offset: int
    position: int
    time: Time
    type: Literal["workspace.configured"]
    data: WorkspaceConfiguredData


class WorkspaceConfigured(_WorkspaceConfigured, total=False):
    """Somebody changed what of the workspace is kept."""
    turn: TurnId
    raw: str
    hash: str


class WorkspaceConfiguredData(TypedDict):
    changed: Dict[str, SettingChange]
    retain: Retention
    by: str


class SettingChange(TypedDict):
    old: Optional[int]
    new: Optional[int]


class _MessageRequest(TypedDict):
    content: str


class MessageRequest(_MessageRequest, total=False):
    workspace_id: Optional[WorkspaceId]
    source_chat_key: Optional[str]
    env_vars: Optional[Dict[str, str]]


class MessageReply(TypedDict):
    session_id: str
    message: str
    success: bool
    error: Optional[ErrorInfo]


class Workspace(TypedDict):
    id: WorkspaceId
    name: str
    path: str
    created_at: Time
    updated_at: Time
    session_id: Optional[str]
    metadata: Dict[str, Any]
    status: Literal["idle", "busy"]
    tools: Optional[List[str]]


class WorkspaceList(TypedDict):
    workspaces: List[Workspace]


class Task(TypedDict):
    task_id: str
    source_chat_key: str
    prompt_preview: str
    enqueued_at: str
    started_at: Optional[str]
    elapsed_seconds: float
    wait_seconds: float


class Queue(TypedDict):
    workspace_id: str
    current_task: Optional[Task]
    queue_length: int
    queued_tasks: List[Task]


class TaskCancelled(TypedDict):
    cancelled: bool
    workspace_id: str


class SessionReset(TypedDict):
    status: Literal["ok"]
    workspace_id: str
    old_session_id: Optional[str]
    new_session_id: Optional[str]


class PendingResults(TypedDict):
    workspace_id: str
    count: int
    results: List[PendingResult]


class PendingResult(TypedDict):
    id: str
    workspace_id: str
    source_chat_key: str
    result: str
    created_at: str
    expires_at: str
    is_error: bool
    error_code: str


class ResultsAcknowledged(TypedDict):
    status: Literal["ok"]
    workspace_id: str
    acknowledged: List[str]


class Session(TypedDict):
    workspace_id: str
    session_id: str


class Tools(TypedDict):
    status: Literal["ok"]
    tools: Optional[List[str]]
    source: Literal["cache", "probe"]
    mcp_servers: List[McpServer]


class Status(TypedDict):
    status: Literal["healthy"]
    services: Dict[str, Any]
    capabilities: Dict[str, Any]
    workspaces: Dict[str, Any]
    version: str
    claude_version: Optional[str]


class PolicySummary(TypedDict):
    allowed_tools: List[str]
    blocked_tools: List[str]
    allow_network: bool
    allow_file_modification: bool
    allow_command_execution: bool


class Settings(TypedDict):
    active_provider: str
    timeout_ms: int
    providers: Dict[str, Provider]


class Provider(TypedDict):
    name: str
    base_url: str
    auth_token: str
    model: str


class ProviderChange(TypedDict, total=False):
    name: str
    base_url: str
    auth_token: str
    model: str


class ShellRequest(TypedDict, total=False):
    workspace_id: Optional[WorkspaceId]
    argv: Optional[List[str]]
    rows: Optional[int]
    cols: Optional[int]


class Shell(TypedDict):
    id: str
    workspace_id: str
    cwd: str
    pid: int
    argv: List[str]
    created_at: Time
    last_active: Time


KnownEvent = Union[
    WorkspaceCreated,
    TurnQueued,
    TurnStarted,
    TurnChanges,
    TurnCompleted,
    SessionStarted,
    SessionLost,
    SessionForgotten,
    ItemStarted,
    ItemDelta,
    ItemCompleted,
    PermissionRequested,
    PermissionResolved,
    PermissionRuleChanged,
    QuestionRequested,
    QuestionResolved,
    AgentRetrying,
    AgentNotice,
    AgentOpaque,
    AgentNoise,
    ResultPending,
    ResultDelivered,
    ShellOpened,
    ShellClosed,
    WebhookDead,
    Fault,
    EventsRemoved,
    WorkspaceConfigured,
]
# A newer server may have types of events that are not among these.
Event = KnownEvent
