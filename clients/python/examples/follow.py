"""Sends a prompt and prints what the agent answers, as it comes."""
import os

import tidemark

server = tidemark.Client(os.environ.get("TIDEMARK_SERVER", "http://127.0.0.1:7021"),
                         os.environ.get("TIDEMARK_TOKEN"))
workspace = server.workspace("demo")
accepted = workspace.submit("WORDS 12")

for event in workspace.events(after=f"{accepted['epoch']}-{accepted['offset']}", turn=accepted["turn"]):
    if event["type"] == "item.delta":
        print(event["data"]["text"], end="", flush=True)
    if event["type"] == "turn.completed":
        print(f"\n{event['data']['outcome']}, {event['data']['usage']['output']} tokens")
        break
