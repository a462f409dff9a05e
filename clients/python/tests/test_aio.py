import asyncio
import unittest

import tidemark
from tidemark import aio

from .support import ServerTest, completes


class Aio(ServerTest):
    def run_in(self, workspace: str, what) -> None:
        asyncio.run(what(aio.Client(self.server.url, self.server.token).workspace(workspace)))

    def test_a_turn_is_followed_and_its_result_awaited(self):
        async def main(workspace):
            turn = (await workspace.submit("WORDS 20"))["turn"]
            seen = []
            async for event in workspace.events(after=0):
                seen.append(event)
                if completes(event, turn):
                    break
            self.assert_dense(seen)
            result = await workspace.result(turn)
            self.assertEqual(result["status"], "succeeded")
            self.assertEqual([each["turn"] async for each in workspace.turns()], [turn])
            self.assertTrue((await workspace.verify())["ok"])

        self.run_in("async", main)

    def test_many_streams_and_waits_at_once(self):
        async def main(workspace):
            async def follow(turn):
                async for event in workspace.events(turn=turn):
                    if completes(event, turn):
                        return event["data"]["outcome"]

            turns = [(await workspace.submit(f"ECHO {i}"))["turn"] for i in range(8)]
            outcomes = await asyncio.gather(*(follow(turn) for turn in turns))
            states = [each["status"] for each in await asyncio.gather(*map(workspace.result, turns))]
            self.assertEqual((set(outcomes), set(states)), ({"succeeded"}, {"succeeded"}))

        self.run_in("many", main)

    def test_a_reader_sees_each_event_once_although_the_server_is_killed(self):
        async def main(workspace):
            await workspace.submit("WORDS 100000 5")
            seen, last = [], None
            async for event in workspace.events():
                seen.append(event)
                if event["type"] == "item.delta" and len(seen) >= 40 and last is None:
                    self.server.kill()
                    self.server.launch()
                    last = (await workspace.submit("ECHO after"))["turn"]
                if last is not None and completes(event, last):
                    break
            self.assert_dense(seen)

        self.run_in("killed", main)

    def test_a_task_that_reads_can_be_cancelled_and_failures_are_those_of_the_other_client(self):
        async def main(workspace):
            await workspace.result((await workspace.submit("ECHO one"))["turn"])
            arrived = asyncio.Event()

            async def read():
                async for _ in workspace.events():
                    arrived.set()

            reading = asyncio.create_task(read())
            await arrived.wait()
            reading.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await reading
            with self.assertRaises(tidemark.GapError):
                async for _ in workspace.events(after=100_000):
                    pass

        self.run_in("cancelled", main)


if __name__ == "__main__":
    unittest.main()
