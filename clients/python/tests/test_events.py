import threading
import unittest

import tidemark

from .support import ServerTest, completes, read_until


class Events(ServerTest):
    def test_a_reader_sees_offsets_1_to_n_once_each_although_the_server_is_killed_amid_a_turn(self):
        workspace = self.client.workspace("killed")
        long = workspace.submit("WORDS 100000 5")["turn"]
        seen, last = [], None
        for event in workspace.events():
            seen.append(event)
            if event["type"] == "item.delta" and len(seen) >= 40 and last is None:
                self.server.kill()
                self.server.launch()
                last = workspace.submit("ECHO after the restart")["turn"]
            if last is not None and completes(event, last):
                break
        self.assert_dense(seen)
        ends = [(e["turn"], e["data"]["outcome"]) for e in seen if e["type"] == "turn.completed"]
        self.assertEqual(ends, [(long, "interrupted"), (last, "succeeded")])
        again = read_until(workspace.events(after=0), last)
        self.assertEqual([e["hash"] for e in again], [e["hash"] for e in seen])
        self.assertTrue(workspace.verify()["ok"])

    def test_a_reader_goes_on_behind_the_cursor_that_it_gives(self):
        workspace = self.client.workspace("resumed")
        turn = workspace.submit("WORDS 20")["turn"]
        whole = read_until(workspace.events(), turn)
        middle = whole[len(whole) // 2]
        for cursor in (tidemark.cursor_of(middle), middle["offset"]):
            self.assertEqual(read_until(workspace.events(after=cursor), turn), whole[middle["offset"]:])

    def test_a_reader_that_takes_its_time_misses_nothing(self):
        workspace = self.client.workspace("slow")
        turn = workspace.submit("WORDS 4000\nHUGE 3000000\nWORDS 4000")["turn"]
        events = workspace.events()
        first = next(events)
        workspace.result(turn)  # megabytes pile up meanwhile
        seen = [first] + read_until(events, turn)
        self.assert_dense(seen)
        self.assertGreater(len(seen), 8000)

    def test_types_turns_and_raw_lines_are_chosen(self):
        workspace = self.client.workspace("chosen")
        first = workspace.submit("ECHO one")["turn"]
        second = workspace.submit("ECHO two")["turn"]
        workspace.result(second)
        seen = read_until(workspace.events(types=["item.*", "turn.completed"], turn=second, raw=True), second)
        self.assertEqual({e["turn"] for e in seen}, {second})
        self.assertIn("item.completed", {e["type"] for e in seen})
        self.assertTrue(any("raw" in e for e in seen))
        self.assertNotEqual(first, second)

    def test_closing_ends_the_iteration_also_from_another_thread(self):
        workspace = self.client.workspace("closed")
        turn = workspace.submit("ECHO one")["turn"]
        workspace.result(turn)
        with workspace.events() as events:
            next(events)
        self.assertLessEqual(len(list(events)), 20)  # what was read already
        idle = workspace.events(types=["fault"])
        waiting = threading.Thread(target=list, args=(idle,))
        waiting.start()
        idle.close()
        waiting.join(20)
        self.assertFalse(waiting.is_alive())

    def test_a_place_that_is_not_there_is_told_as_an_error_or_as_a_value_behind_which_the_reading_goes_on(self):
        workspace = self.client.workspace("gaps")
        turn = workspace.submit("ECHO one")["turn"]
        workspace.result(turn)
        with self.assertRaises(tidemark.GapError) as caught:
            next(workspace.events(after=100_000))
        self.assertEqual((caught.exception.code, caught.exception.gap.requested), ("ahead", "100000"))
        other = workspace.events(after="9-3", gap="value")
        gap = next(other)
        self.assertIsInstance(gap, tidemark.Gap)
        self.assertEqual((gap.reason, gap.first, gap.requested), ("epoch", 1, "9-3"))
        self.assert_dense(read_until(other, turn))

    def test_a_cursor_that_is_none_is_refused_at_once(self):
        with self.assertRaisesRegex(tidemark.TidemarkError, "a cursor is"):
            self.client.workspace("any").events(after="latest")


if __name__ == "__main__":
    unittest.main()
