import asyncio
import unittest

import tidemark
from tidemark import aio

from .support import ServerTest, completes


class Audit(ServerTest):
    def run_turns(self, prefix, prompts):
        """One turn a workspace."""
        turns = []
        for i, prompt in enumerate(prompts):
            workspace = self.client.workspace(f"{prefix}-{i}")
            turns.append(workspace.submit(prompt)["turn"])
            workspace.result(turns[-1])
        return turns

    def test_a_search_gives_what_fits_page_by_page_in_both_directions(self):
        turns = self.run_turns("searched", ["ECHO one", "ECHO two", "FAIL", "ECHO three"])
        names = [f"searched-{i}" for i in range(4)]
        ends = list(self.client.search(workspaces=names, types=["turn.completed"], page_size=1))
        self.assertEqual([e["turn"] for e in ends], turns)
        back = list(self.client.search(workspaces=names, types=["turn.completed"], page_size=3, newest_first=True))
        self.assertEqual(back, ends[::-1])
        good = self.client.search(workspaces=names, outcome="succeeded")
        self.assertEqual([e["turn"] for e in good], [e["turn"] for e in ends if e["data"]["outcome"] == "succeeded"])
        found = self.client.search(text="ECHO two", types=["turn.queued"], workspaces=names)
        self.assertEqual([e["turn"] for e in found], turns[1:2])
        rest = self.client.search(workspaces=names, types=["turn.completed"], after=ends[1]["position"])
        self.assertEqual(list(rest), ends[2:])

    def test_a_reader_of_all_workspaces_misses_and_repeats_nothing_although_the_server_is_killed(self):
        first = self.run_turns("followed", ["ECHO one"])[0]
        last, seen = None, []
        with self.client.events() as events:
            for event in events:
                seen.append(event)
                if completes(event, first) and last is None:
                    self.server.kill()
                    self.server.launch()
                    last = self.client.workspace("followed-1").submit("ECHO two")["turn"]
                if last is not None and completes(event, last):
                    break
        positions = [e["position"] for e in seen]
        self.assertEqual(positions, list(range(1, len(seen) + 1)))
        behind = self.client.events(after=seen[4]["position"], types=["turn.completed"], turn=last)
        self.assertEqual(next(behind), seen[-1])
        behind.close()

    def test_a_place_beyond_the_log_is_told(self):
        self.run_turns("beyond", ["ECHO one"])
        with self.assertRaises(tidemark.GapError) as caught:
            next(self.client.events(after=10**9))
        self.assertEqual(caught.exception.gap.reason, "ahead")
        with self.client.events(after=10**9, gap="value") as events:
            gap = next(events)
            self.assertEqual(gap.requested, str(10**9))
            turn = self.client.workspace("beyond-0").submit("ECHO two")["turn"]
            self.assertGreater(next(events)["position"], gap.head)
            self.client.workspace("beyond-0").result(turn)

    def test_the_same_for_asyncio(self):
        turn = self.run_turns("awaited", ["ECHO one"])[0]

        async def read():
            client = aio.Client(self.server.url, self.server.token)
            found = [e async for e in client.search(turn=turn, types=["turn.*"])]
            events = client.events(turn=turn, types=["turn.*"])
            followed = [await events.__anext__() for _ in found]
            await events.aclose()
            return found, followed

        found, followed = asyncio.run(read())
        self.assertEqual([e["type"] for e in found], ["turn.queued", "turn.started", "turn.completed"])
        self.assertEqual(followed, found)


if __name__ == "__main__":
    unittest.main()
