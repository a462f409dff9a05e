"""A Tidemark server."""
from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Optional, Sequence, Union, overload

from . import types
from ._connection import Connection
from ._place import Cursor, LogPlace
from ._reader import EventStream
from .errors import Gap
from .workspace import AWAY, Workspace

EVENTS = "/api/v1/events"


class Client:
    """Holds no connection: nothing has to be closed, and threads may share it.

    url: for example `http://127.0.0.1:7021`.
    retry_for: for how many seconds a call is tried again while the server is away or asks to come back later. Streams
        of events have a time of their own.
    timeout: seconds of silence after which a call counts as unanswered.
    """

    def __init__(self, url: str, token: Optional[str] = None, *, retry_for: float = 10.0, timeout: float = 60.0) -> None:
        self._connection = Connection(url, token, retry_for, timeout)

    def workspace(self, id: str) -> Workspace:
        return Workspace(self._connection, id)

    def workspaces(self) -> List[types.Workspace]:
        """All workspaces."""
        return self._connection.json("GET", "/api/v1/workspaces")["workspaces"]

    def search(self, *, newest_first: bool = False, page_size: Optional[int] = None, after: Optional[Cursor] = None,
               workspaces: Sequence[str] = (), types: Sequence[str] = (), turn: Optional[str] = None,
               tool: Optional[str] = None, outcome: Optional[str] = None, text: Optional[str] = None,
               since: Optional[str] = None, until: Optional[str] = None, raw: bool = False) -> Iterator[types.Event]:
        """The events of all workspaces that fit every condition given, up to now, fetched page by page.

        after: behind this place, in the direction of the search: the `next` of a page, or an event's `position`.
        workspaces, types: any of these; a trailing `*` of a type matches a family (`item.*`).
        tool: calls of this tool and permissions for it.
        outcome: ends of turns that came out so.
        text: stands in the event's data, letter for letter.
        since, until: RFC 3339, or a date: not before the one, before the other.
        """
        pages = self.search_pages(newest_first=newest_first, page_size=page_size, after=after, workspaces=workspaces,
                                  types=types, turn=turn, tool=tool, outcome=outcome, text=text, since=since,
                                  until=until, raw=raw)
        for page in pages:
            yield from page["events"]

    def search_pages(self, *, newest_first: bool = False, page_size: Optional[int] = None,
                     after: Optional[Cursor] = None, workspaces: Sequence[str] = (), types: Sequence[str] = (),
                     turn: Optional[str] = None, tool: Optional[str] = None, outcome: Optional[str] = None,
                     text: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None,
                     raw: bool = False) -> Iterator[types.AuditPage]:
        """Likewise, page by page. A page of a search for what is rare may hold no event and yet not be the last."""
        query = _query(workspaces, types, turn, tool, outcome, text, since, until, raw)
        complete = False
        while not complete:
            page = self._connection.json("GET", EVENTS, query={
                **query, "order": "newest" if newest_first else None, "limit": page_size, "after": after})
            yield page
            after = page["next"]
            complete = page["complete"]

    @overload
    def events(self, *, after: Optional[Cursor] = ..., workspaces: Sequence[str] = ..., types: Sequence[str] = ...,
               turn: Optional[str] = ..., tool: Optional[str] = ..., outcome: Optional[str] = ...,
               text: Optional[str] = ..., since: Optional[str] = ..., until: Optional[str] = ..., raw: bool = ...,
               gap: Literal["error"] = ..., retry_for: float = ...) -> EventStream[types.Event]: ...

    @overload
    def events(self, *, after: Optional[Cursor] = ..., workspaces: Sequence[str] = ..., types: Sequence[str] = ...,
               turn: Optional[str] = ..., tool: Optional[str] = ..., outcome: Optional[str] = ...,
               text: Optional[str] = ..., since: Optional[str] = ..., until: Optional[str] = ..., raw: bool = ...,
               gap: Literal["value"], retry_for: float = ...) -> EventStream[Union[types.Event, Gap]]: ...

    def events(self, *, after: Optional[Cursor] = None, workspaces: Sequence[str] = (), types: Sequence[str] = (),
               turn: Optional[str] = None, tool: Optional[str] = None, outcome: Optional[str] = None,
               text: Optional[str] = None, since: Optional[str] = None, until: Optional[str] = None, raw: bool = False,
               gap: str = "error", retry_for: float = AWAY) -> EventStream[Any]:
        """The events of all workspaces that fit, as they happened and as they happen, in the order in which they were
        stored: each once, none left out. Conditions as of `search`, `gap` and `retry_for` as of Workspace.events.

        after: begin behind this place: an event's `position`. Without it at the first event there is.
        """
        query = _query(workspaces, types, turn, tool, outcome, text, since, until, raw)
        return EventStream(self._connection, EVENTS, query, LogPlace(after), gap=gap, retry_for=retry_for)

    def permissions(self) -> List[types.PendingPermission]:
        """What agents wait for people to decide, in all workspaces."""
        return self._connection.json("GET", "/api/v1/permissions")["pending"]

    def health(self) -> types.Health:
        return self._connection.json("GET", "/health")

    def ready(self) -> types.Readiness:
        """Whether new work should be sent to this server, and if not, why."""
        return self._connection.json("GET", "/ready", accept=lambda status: status in (200, 503))


def _query(workspaces: Sequence[str], types: Sequence[str], turn: Optional[str], tool: Optional[str],
           outcome: Optional[str], text: Optional[str], since: Optional[str], until: Optional[str],
           raw: bool) -> Dict[str, Any]:
    return {"workspace": ",".join(workspaces) or None, "types": ",".join(types) or None, "turn": turn, "tool": tool,
            "outcome": outcome, "text": text, "from": since, "to": until, "raw": raw or None}
