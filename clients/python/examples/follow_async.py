"""Sends prompts to several workspaces and follows all of them at once."""
import asyncio
import os

from tidemark import aio


async def follow(workspace: aio.Workspace) -> None:
    accepted = await workspace.submit("WORDS 12")
    async for event in workspace.events(turn=accepted["turn"]):
        if event["type"] == "turn.completed":
            print(workspace.id, event["data"]["outcome"])
            break


async def main() -> None:
    server = aio.Client(os.environ.get("TIDEMARK_SERVER", "http://127.0.0.1:7021"), os.environ.get("TIDEMARK_TOKEN"))
    await asyncio.gather(*(follow(server.workspace(name)) for name in ("one", "two", "three")))


asyncio.run(main())
