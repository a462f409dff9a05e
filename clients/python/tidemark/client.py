"""A Tidemark server."""
from __future__ import annotations

from typing import List, Optional

from . import types
from ._connection import Connection
from .workspace import Workspace


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

    def health(self) -> types.Health:
        return self._connection.json("GET", "/health")

    def ready(self) -> types.Readiness:
        """Whether new work should be sent to this server, and if not, why."""
        return self._connection.json("GET", "/ready", accept=lambda status: status in (200, 503))
