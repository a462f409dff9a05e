"""One server and how to talk to it."""
from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from typing import Any, Callable, Dict, Mapping, Optional

from ._waiting import delay_after
from .errors import TidemarkError, error_of, unreachable

FIRST_WAIT = 0.25  # seconds
BROKEN = (OSError, http.client.HTTPException)


class Connection:
    """Threads may share one: each call has a connection of its own."""

    def __init__(self, url: str, token: Optional[str], retry_for: float, timeout: float) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise TidemarkError("invalid_argument", 0, f"{url!r} is no address of a server")
        self._secure = parts.scheme == "https"
        self._host = parts.hostname
        self._port = parts.port
        self._root = parts.path.rstrip("/")
        self._token = token
        self._retry_for = retry_for
        self._timeout = timeout

    def open(self, timeout: Optional[float] = None) -> http.client.HTTPConnection:
        """Not connected yet. `timeout` in seconds, of each read and write."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        return kind(self._host, self._port, timeout=self._timeout if timeout is None else timeout)

    def send(self, to: http.client.HTTPConnection, method: str, path: str, query: Mapping[str, Any],
             headers: Mapping[str, str], body: Any = None) -> http.client.HTTPResponse:
        """One attempt; any status is an answer. Raises TidemarkError `unreachable` if there was none."""
        given = {name: _text(value) for name, value in query.items() if value is not None}
        target = self._root + path + ("?" + urllib.parse.urlencode(given) if given else "")
        sent: Dict[str, str] = {"Connection": "close", **headers}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        data = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            data = json.dumps(body).encode("utf-8")
        try:
            to.request(method, target, data, sent)
            return to.getresponse()
        except BROKEN as failure:
            raise unreachable(failure) from failure

    def json(self, method: str, path: str, *, query: Optional[Mapping[str, Any]] = None,
             headers: Optional[Mapping[str, str]] = None, body: Any = None,
             accept: Callable[[int], bool] = lambda status: 200 <= status < 300) -> Any:
        """The answer's JSON. Every call of ours may be repeated, so it is, as long as the server is away or says that
        it is worth it."""
        until = time.monotonic() + self._retry_for
        failures = 0
        while True:
            try:
                return self._once(method, path, query or {}, headers or {}, body, accept)
            except TidemarkError as failure:
                wait = delay_after(failures, FIRST_WAIT, failure.retry_after)
                if not failure.retryable or time.monotonic() + wait > until:
                    raise
            failures += 1
            time.sleep(wait)

    def _once(self, method: str, path: str, query: Mapping[str, Any], headers: Mapping[str, str], body: Any,
              accept: Callable[[int], bool]) -> Any:
        connection = self.open()
        try:
            response = self.send(connection, method, path, query, headers, body)
            try:
                text = response.read()
                if accept(response.status):
                    return json.loads(text) if response.status != 204 else None
            except (*BROKEN, ValueError) as failure:  # it broke off in the middle
                raise unreachable(failure) from failure
            raise error_of(response.status, response.headers, text)
        finally:
            connection.close()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
