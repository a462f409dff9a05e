"""Client for Tidemark: turns of coding agents, and their events exactly once, in order, across any disconnect.

    client = tidemark.Client("http://127.0.0.1:7021", token="…")
    workspace = client.workspace("demo")
    turn = workspace.submit("ECHO hello")["turn"]
    for event in workspace.events(after=0):
        print(event["offset"], event["type"])

`tidemark.aio` is the same for asyncio; `tidemark.types` says what calls and events hold.
"""
from __future__ import annotations

from typing import Any, Mapping

from ._reader import EventStream
from .client import Client
from .errors import Gap, GapError, TidemarkError
from .webhooks import verify_webhook
from .workspace import Workspace

__all__ = ["Client", "EventStream", "Gap", "GapError", "TidemarkError", "Workspace", "cursor_of", "verify_webhook"]


def cursor_of(event: Mapping[str, Any]) -> str:
    """The cursor of an event: what to give as `after` to go on behind it."""
    return f"{event['epoch']}-{event['offset']}"
