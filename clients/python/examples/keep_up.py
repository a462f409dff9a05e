"""Handles every event of a workspace once, over any number of runs: the cursor is kept in a file.

usage: keep_up.py <workspace> <cursor file> <turn to stop after>
"""
import os
import pathlib
import sys

import tidemark

name, file, last_turn = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
server = tidemark.Client(os.environ.get("TIDEMARK_SERVER", "http://127.0.0.1:7021"),
                         os.environ.get("TIDEMARK_TOKEN"))

after = file.read_text() if file.exists() else None
with server.workspace(name).events(after=after, gap="value") as events:
    for event in events:
        if isinstance(event, tidemark.Gap):
            print(f"events after {event.requested} are gone ({event.reason})")
            continue
        print(event["offset"], event["type"])
        file.write_text(tidemark.cursor_of(event))  # after the work on it, in the same transaction if there is one
        if event["type"] == "turn.completed" and event["turn"] == last_turn:
            break
