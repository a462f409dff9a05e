"""Reads a stream of events across any number of connections: each event once, in order, none left out."""
from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from typing import Any, Dict, Generator, Generic, Iterator, List, Optional, TypeVar, Union

from ._connection import BROKEN, Connection
from ._frames import Frame, FrameParser
from ._place import LogPlace, Place
from ._waiting import delay_after
from .errors import Gap, GapError, TidemarkError, error_of, error_of_problem, protocol_error, unreachable

SILENCE = 45.0  # seconds: three heartbeats
FIRST_WAIT = 0.5  # seconds, until the server suggests one
PIECE = 64 << 10

T = TypeVar("T")


class _Over(Exception):
    """There is nothing more to read."""


class EventStream(Generic[T]):
    """An iterator of events. `close()` ends it, from any thread, also while another one waits in it; so do the end of
    a `with` and the end of its life."""

    def __init__(self, connection: Connection, path: str, query: Dict[str, Any], place: Union[Place, LogPlace], *,
                 gap: str, retry_for: float) -> None:
        if gap not in ("error", "value"):
            raise ValueError('gap is "error" or "value"')
        self._reader = _Reader(connection, path, query, place, gap, retry_for)
        self._batches = self._reader.read()
        self._ready: List[T] = []  # what is read and not yet given, the next one last

    def __iter__(self) -> "EventStream[T]":
        return self

    def __next__(self) -> T:
        while not self._ready:
            self._ready = next(self._batches)[::-1]
        return self._ready.pop()

    def __enter__(self) -> "EventStream[T]":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_batches"):
            self.close()

    def close(self) -> None:
        """The iteration ends without an error. Events that were read and not yet given are still given."""
        self._reader.stop()
        try:
            self._batches.close()
        except ValueError:
            pass  # another thread is in it, and about to come out

    def next_batch(self) -> List[T]:
        """The events that have come, at least one; empty at the end. Instead of iterating."""
        if self._ready:
            ready, self._ready = self._ready[::-1], []
            return ready
        return next(self._batches, [])


class _Reader:
    def __init__(self, connection: Connection, path: str, query: Dict[str, Any], place: Union[Place, LogPlace],
                 gap: str, retry_for: float) -> None:
        self._connection = connection
        self._path = path
        self._query = query
        self._place = place
        self._gap = gap
        self._retry_for = retry_for
        self._retry = FIRST_WAIT
        self._heard = False  # on this connection
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._open: Optional[socket.socket] = None  # guarded by the lock

    def stop(self) -> None:
        """Callable from any thread: `read` comes to its end."""
        self._closed.set()
        with self._lock:
            if self._open is not None:
                try:
                    self._open.shutdown(socket.SHUT_RDWR)  # wakes up who waits for it
                except OSError:
                    pass

    def read(self) -> Generator[List[Any], None, None]:
        failures = 0
        away_since = time.monotonic()
        while not self._closed.is_set():
            self._heard = False
            self._place.connect()
            try:
                yield from self._connect()
                failure = unreachable("the stream ended")
            except _Over:
                return
            except TidemarkError as why:
                failure = why
            if self._closed.is_set():
                return
            if self._heard and failure.code != "protocol":
                failures = 0
                away_since = time.monotonic()
            wait = delay_after(failures, self._retry, failure.retry_after)
            if not failure.retryable or time.monotonic() + wait - away_since > self._retry_for:
                raise failure
            failures += 1
            self._closed.wait(wait)

    def _connect(self) -> Iterator[List[Any]]:
        connection = self._connection.open(SILENCE)
        response: Optional[http.client.HTTPResponse] = None
        try:
            response = self._connection.send(connection, "GET", self._path, {"after": self._place.cursor, **self._query},
                                             {"Accept": "text/event-stream"})
            if response.status == 204:
                raise _Over
            if response.status != 200:
                raise error_of(response.status, response.headers, _rest_of(response))
            with _Interruptible(self, response):
                yield from self._follow(response)
        finally:
            if response is not None:
                response.close()  # which has taken the connection over
            connection.close()

    def _follow(self, response: http.client.HTTPResponse) -> Iterator[List[Any]]:
        parser = FrameParser()
        while not self._closed.is_set():
            try:
                piece = response.read1(PIECE)
            except BROKEN as failure:
                raise unreachable(failure) from failure
            if not piece:
                return
            batch: List[Any] = []
            problem: Optional[Exception] = None
            for frame in parser.feed(piece):
                try:
                    self._on(frame, batch)
                except (TidemarkError, _Over) as why:
                    problem = why  # what lies before it is still given
                    break
            if batch:
                yield batch
            if problem is not None:
                raise problem

    def _on(self, frame: Frame, batch: List[Any]) -> None:
        if frame.retry is not None:
            self._retry = frame.retry
        try:
            data = json.loads(frame.data)
        except ValueError:
            raise protocol_error(f'a frame "{frame.type}" is no JSON') from None
        if frame.type == "overload":
            raise TidemarkError("overload", 200, "the server has too many readers", True, self._retry)
        if self._place.expects_gap and frame.type != "gap":
            raise protocol_error("the stream went on elsewhere without a word")
        self._heard = True
        if frame.type == "hello":
            self._place.begin(data)
        elif frame.type == "gap":
            batch.append(self._pass(data))
        elif frame.type == "end":
            raise _Over
        elif frame.type == "error":
            raise error_of_problem(data)
        elif frame.type == "progress":
            self._place.pass_by(data)
        elif self._place.take(data, frame.id):
            batch.append(data)

    def _pass(self, data: Dict[str, Any]) -> Gap:
        gap = Gap(data["reason"], data["requested"], data.get("first", 1), data["head"], data["epoch"])
        if self._gap == "error":
            raise GapError(gap)
        self._place.leap(gap)
        return gap


class _Interruptible:
    """While it is entered, `stop` ends a read of the response."""

    def __init__(self, reader: _Reader, response: http.client.HTTPResponse) -> None:
        self._reader = reader
        # A connection that is to be closed hands its socket over to the response, and keeps none.
        self._socket = socket.socket(fileno=socket.dup(response.fileno()))

    def __enter__(self) -> None:
        with self._reader._lock:
            self._reader._open = self._socket

    def __exit__(self, *_: object) -> None:
        with self._reader._lock:
            self._reader._open = None
            self._socket.close()


def _rest_of(response: http.client.HTTPResponse) -> bytes:
    try:
        return response.read(1 << 20)
    except BROKEN:
        return b""
