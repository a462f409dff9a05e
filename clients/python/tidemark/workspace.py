"""One workspace."""
from __future__ import annotations

import urllib.parse
import uuid
from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, Sequence, Union, overload

from . import types
from ._connection import Connection
from ._place import Cursor, Place
from ._reader import EventStream
from .errors import Gap

AWAY = 300.0  # seconds


class Workspace:
    """It need not be there: the first turn makes it."""

    id: str

    def __init__(self, connection: Connection, id: str) -> None:
        self.id = id
        self._connection = connection
        self._path = "/api/v1/workspaces/" + urllib.parse.quote(id, safe="")

    def submit(self, prompt: str, *, idempotency_key: Optional[str] = None, source: Optional[str] = None,
               env: Optional[Mapping[str, str]] = None, model: Optional[str] = None,
               on_restart: Optional[str] = None, timeout_s: Optional[int] = None,
               metadata: Optional[Mapping[str, Any]] = None) -> types.TurnAccepted:
        """Enqueues a prompt. Exactly one turn comes of it, also if an answer is lost and the call tried again.

        idempotency_key: a submit with the same key and the same rest gives the same turn; made up for each call if
            none is given.
        source: who asks; kept with the turn.
        env: variables of this turn's agent; the server never stores their values.
        on_restart: if the server dies while the turn runs: "interrupt" it (the default), or "retry".
        """
        options = {"source": source, "env": dict(env) if env is not None else None, "model": model,
                   "on_restart": on_restart, "timeout_s": timeout_s,
                   "metadata": dict(metadata) if metadata is not None else None}
        body: Dict[str, Any] = {"prompt": prompt, **{k: v for k, v in options.items() if v is not None}}
        key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
        return self._connection.json("POST", f"{self._path}/turns", headers={"Idempotency-Key": key}, body=body)

    def turn(self, turn: str) -> types.Turn:
        """One turn, with its result if it has ended."""
        return self._connection.json("GET", self._turn(turn))

    def turns(self, *, page_size: Optional[int] = None, before: Optional[str] = None) -> Iterator[types.Turn]:
        """All turns, newest first, fetched page by page (`page_size` at most 500); `before`: only those older than
        this one."""
        more = True
        while more:
            page = self.turn_page(limit=page_size, before=before)
            yield from page["turns"]
            before = page["next"]
            more = before is not None

    def turn_page(self, *, limit: Optional[int] = None, before: Optional[str] = None) -> types.TurnPage:
        """One page of them."""
        return self._connection.json("GET", f"{self._path}/turns", query={"limit": limit, "before": before})

    def cancel(self, turn: str) -> types.TurnCancelled:
        """Cancels exactly this turn, queued or running."""
        return self._connection.json("DELETE", self._turn(turn))

    def interrupt(self, turn: str) -> types.TurnCancelled:
        """Asks the agent to stop this turn; it is stopped if it does not."""
        return self._connection.json("POST", self._turn(turn) + "/interrupt")

    @overload
    def events(self, *, after: Optional[Cursor] = ..., types: Sequence[str] = ..., turn: Optional[str] = ...,
               raw: bool = ..., consumer: Optional[str] = ..., gap: Literal["error"] = ...,
               retry_for: float = ...) -> EventStream[types.Event]: ...

    @overload
    def events(self, *, after: Optional[Cursor] = ..., types: Sequence[str] = ..., turn: Optional[str] = ...,
               raw: bool = ..., consumer: Optional[str] = ..., gap: Literal["value"],
               retry_for: float = ...) -> EventStream[Union[types.Event, Gap]]: ...

    def events(self, *, after: Optional[Cursor] = None, types: Sequence[str] = (), turn: Optional[str] = None,
               raw: bool = False, consumer: Optional[str] = None, gap: str = "error",
               retry_for: float = AWAY) -> EventStream[Any]:
        """The workspace's events, as they happened and as they happen: each once, in order, none left out, whatever
        becomes of the connection or the server. Ends when the workspace is deleted, or by `close()`.

        after: begin behind this event (`cursor_of(event)`, or an offset); without it at the first there is.
        types: only these; a trailing `*` matches a family (`item.*`).
        turn: only this turn's.
        raw: with the agent's own lines.
        consumer: begin where this consumer is (`put_consumer`, `acknowledge`); `after` wins.
        gap: what happens where events are not there any more: "error" raises GapError, "value" gives a Gap and goes
            on behind it.
        retry_for: for how many seconds the server may be away before the reading fails.

        The iteration raises TidemarkError where the server refuses, or is away for too long.
        """
        query = {"types": ",".join(types) or None, "turn": turn, "raw": raw or None, "consumer": consumer}
        place = Place(after, dense=not types and turn is None)
        return EventStream(self._connection, f"{self._path}/events", query, place, gap=gap, retry_for=retry_for)

    def result(self, turn: str, *, retry_for: float = AWAY) -> types.Turn:
        """Waits until the turn has ended, however that may be (`status` says how), and gives it back."""
        found = self.turn(turn)
        if found["ended"] is not None:
            return found
        with self.result_stream(found, retry_for) as ends:
            for what in ends:
                # Its end may lie in a gap.
                if not isinstance(what, Gap) or self.turn(turn)["ended"] is not None:
                    break
        return self.turn(turn)

    def result_stream(self, turn: types.Turn, retry_for: float = AWAY) -> EventStream[Union[types.Event, Gap]]:
        """The event that ends the turn, also if it has happened already."""
        return self.events(after=turn["queued_at"], turn=turn["turn"], types=["turn.completed"], gap="value",
                           retry_for=retry_for)

    def permissions(self) -> types.Permissions:
        """What the agent waits for a person to decide, oldest first, and what persons have allowed for good."""
        return self._connection.json("GET", f"{self._path}/permissions")

    def decide(self, permission: str, decision: str, *, message: Optional[str] = None,
               answers: Optional[Mapping[str, str]] = None) -> types.Decision:
        """Decides on a request that waits: "allow", "allow_always" (stores a rule) or "deny". The first decision
        counts: TidemarkError with status 409 where it was settled before, 404 where no such request waits. If an answer
        is lost and the call tried again, the 409 speaks of this very decision.

        message: for the agent, with a denial.
        answers: to a question that is allowed: the text of each of its questions, and the answer.
        """
        body: Dict[str, Any] = {"decision": decision}
        if message is not None:
            body["message"] = message
        if answers is not None:
            body["answers"] = dict(answers)
        path = f"{self._path}/permissions/{urllib.parse.quote(permission, safe='')}"
        return self._connection.json("POST", path, body=body)

    def remove_rule(self, rule: str) -> None:
        """People are asked again for what this rule allows."""
        self._connection.json("DELETE", f"{self._path}/permissions/rules/{urllib.parse.quote(rule, safe='')}")

    def put_consumer(self, name: str, *, from_: Union[Cursor, None] = None) -> types.Consumer:
        """Makes a consumer, a reader whose place the server keeps; one that is there stays where it is.

        from_: "first" (the default), "head", or the cursor of the last event that it does not want.
        """
        body = {} if from_ is None else {"from": str(from_)}
        return self._connection.json("PUT", self._consumer(name), body=body)

    def consumer(self, name: str) -> types.Consumer:
        """Where a consumer is, and how many events wait for it (`lag`)."""
        return self._connection.json("GET", self._consumer(name))

    def consumers(self) -> List[types.Consumer]:
        """All of the workspace, webhooks included."""
        return self._connection.json("GET", f"{self._path}/consumers")["consumers"]

    def acknowledge(self, name: str, upto: Union[Cursor, Mapping[str, Any]]) -> types.Consumer:
        """The consumer is done with all events up to this one (an event, or its cursor). Durable when it returns;
        moves forward only."""
        place = upto if isinstance(upto, (str, int)) else f"{upto['epoch']}-{upto['offset']}"
        return self._connection.json("POST", self._consumer(name) + "/ack", body={"offset": place})

    def delete_consumer(self, name: str) -> None:
        """Forgets a consumer and its place."""
        self._connection.json("DELETE", self._consumer(name))

    def info(self) -> types.Workspace:
        """What the server knows of the workspace."""
        return self._connection.json("GET", self._path)

    def verify(self) -> types.Verification:
        """Has the server check that no event was altered or removed. It reads all of them."""
        return self._connection.json("GET", f"{self._path}/verify")

    def _consumer(self, name: str) -> str:
        return f"{self._path}/consumers/{urllib.parse.quote(name, safe='')}"

    def _turn(self, turn: str) -> str:
        return f"{self._path}/turns/{urllib.parse.quote(turn, safe='')}"
