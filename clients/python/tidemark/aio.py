"""The same for asyncio. Each call runs on a thread of asyncio's pool, each stream of events on one of its own."""
from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, AsyncGenerator, List, Literal, Mapping, Optional, Sequence, Union, overload

from . import client, types, workspace
from ._place import Cursor
from ._reader import EventStream, T
from .errors import Gap
from .workspace import AWAY


class Client:
    """See tidemark.Client."""

    def __init__(self, url: str, token: Optional[str] = None, *, retry_for: float = 10.0, timeout: float = 60.0) -> None:
        self._client = client.Client(url, token, retry_for=retry_for, timeout=timeout)

    def workspace(self, id: str) -> "Workspace":
        return Workspace(self._client.workspace(id))

    async def workspaces(self) -> List[types.Workspace]:
        return await asyncio.to_thread(self._client.workspaces)

    async def search(self, *, newest_first: bool = False, page_size: Optional[int] = None,
                     after: Optional[Cursor] = None, **conditions: Any) -> AsyncGenerator[types.Event, None]:
        found = self._client.search_pages(newest_first=newest_first, page_size=page_size, after=after, **conditions)
        while (page := await asyncio.to_thread(next, found, None)) is not None:
            for event in page["events"]:
                yield event

    @overload
    def events(self, *, gap: Literal["error"] = ..., **options: Any) -> AsyncGenerator[types.Event, None]: ...

    @overload
    def events(self, *, gap: Literal["value"], **options: Any) -> AsyncGenerator[Union[types.Event, Gap], None]: ...

    def events(self, *, gap: Any = "error", **options: Any) -> AsyncGenerator[Any, None]:
        return _iterate(self._client.events(gap=gap, **options))

    async def permissions(self) -> List[types.PendingPermission]:
        return await asyncio.to_thread(self._client.permissions)

    async def health(self) -> types.Health:
        return await asyncio.to_thread(self._client.health)

    async def ready(self) -> types.Readiness:
        return await asyncio.to_thread(self._client.ready)


class Workspace:
    """See tidemark.Workspace; what returns there is awaited here, what iterates there is `async for` here."""

    id: str

    def __init__(self, same: workspace.Workspace) -> None:
        self.id = same.id
        self._same = same

    async def submit(self, prompt: str, *, idempotency_key: Optional[str] = None, source: Optional[str] = None,
                     env: Optional[Mapping[str, str]] = None, model: Optional[str] = None,
                     on_restart: Optional[str] = None, timeout_s: Optional[int] = None,
                     metadata: Optional[Mapping[str, Any]] = None) -> types.TurnAccepted:
        return await asyncio.to_thread(self._same.submit, prompt, idempotency_key=idempotency_key, source=source, env=env,
                                       model=model, on_restart=on_restart, timeout_s=timeout_s, metadata=metadata)

    async def turn(self, turn: str) -> types.Turn:
        return await asyncio.to_thread(self._same.turn, turn)

    async def turns(self, *, page_size: Optional[int] = None,
                    before: Optional[str] = None) -> AsyncGenerator[types.Turn, None]:
        more = True
        while more:
            page = await asyncio.to_thread(self._same.turn_page, limit=page_size, before=before)
            for turn in page["turns"]:
                yield turn
            before = page["next"]
            more = before is not None

    async def cancel(self, turn: str) -> types.TurnCancelled:
        return await asyncio.to_thread(self._same.cancel, turn)

    async def interrupt(self, turn: str) -> types.TurnCancelled:
        return await asyncio.to_thread(self._same.interrupt, turn)

    @overload
    def events(self, *, after: Optional[Cursor] = ..., types: Sequence[str] = ..., turn: Optional[str] = ...,
               raw: bool = ..., consumer: Optional[str] = ..., gap: Literal["error"] = ...,
               retry_for: float = ...) -> AsyncGenerator[types.Event, None]: ...

    @overload
    def events(self, *, after: Optional[Cursor] = ..., types: Sequence[str] = ..., turn: Optional[str] = ...,
               raw: bool = ..., consumer: Optional[str] = ..., gap: Literal["value"],
               retry_for: float = ...) -> AsyncGenerator[Union[types.Event, Gap], None]: ...

    def events(self, *, after: Optional[Cursor] = None, types: Sequence[str] = (), turn: Optional[str] = None,
               raw: bool = False, consumer: Optional[str] = None, gap: Any = "error",
               retry_for: float = AWAY) -> AsyncGenerator[Any, None]:
        return _iterate(self._same.events(after=after, types=types, turn=turn, raw=raw, consumer=consumer, gap=gap,
                                          retry_for=retry_for))

    async def result(self, turn: str, *, retry_for: float = AWAY) -> types.Turn:
        found = await self.turn(turn)
        if found["ended"] is not None:
            return found
        ends = _iterate(self._same.result_stream(found, retry_for))
        try:
            async for what in ends:
                if not isinstance(what, Gap) or (await self.turn(turn))["ended"] is not None:
                    break
        finally:
            await ends.aclose()
        return await self.turn(turn)

    async def permissions(self) -> types.Permissions:
        return await asyncio.to_thread(self._same.permissions)

    async def decide(self, permission: str, decision: str, *, message: Optional[str] = None,
                     answers: Optional[Mapping[str, str]] = None) -> types.Decision:
        return await asyncio.to_thread(self._same.decide, permission, decision, message=message, answers=answers)

    async def remove_rule(self, rule: str) -> None:
        await asyncio.to_thread(self._same.remove_rule, rule)

    async def put_consumer(self, name: str, *, from_: Optional[Cursor] = None) -> types.Consumer:
        return await asyncio.to_thread(self._same.put_consumer, name, from_=from_)

    async def consumer(self, name: str) -> types.Consumer:
        return await asyncio.to_thread(self._same.consumer, name)

    async def consumers(self) -> List[types.Consumer]:
        return await asyncio.to_thread(self._same.consumers)

    async def acknowledge(self, name: str, upto: Union[Cursor, Mapping[str, Any]]) -> types.Consumer:
        return await asyncio.to_thread(self._same.acknowledge, name, upto)

    async def delete_consumer(self, name: str) -> None:
        await asyncio.to_thread(self._same.delete_consumer, name)

    async def info(self) -> types.Workspace:
        return await asyncio.to_thread(self._same.info)

    async def verify(self) -> types.Verification:
        return await asyncio.to_thread(self._same.verify)


async def _iterate(stream: EventStream[T]) -> AsyncGenerator[T, None]:
    # asyncio's own pool has few threads, and a stream keeps one for as long as it lives.
    thread = ThreadPoolExecutor(1, thread_name_prefix="tidemark-events")
    loop = asyncio.get_running_loop()
    try:
        while True:
            batch = await loop.run_in_executor(thread, stream.next_batch)
            if not batch:
                return
            for event in batch:
                yield event
    finally:
        stream.close()
        thread.shutdown(wait=False)
