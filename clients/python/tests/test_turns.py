import socket
import unittest
from unittest import mock

import tidemark
from tidemark._connection import Connection

from .support import ServerTest

UNKNOWN = "0193b6c0-0000-7000-8000-000000000000"


class Turns(ServerTest):
    def fails_with(self, code: str, status: int, call, *arguments) -> None:
        with self.assertRaises(tidemark.TidemarkError) as caught:
            call(*arguments)
        self.assertEqual((caught.exception.code, caught.exception.status), (code, status))
        self.assertTrue(caught.exception.detail)

    def test_a_prompt_is_submitted_and_its_result_waited_for(self):
        workspace = self.client.workspace("simple")
        accepted = workspace.submit("ECHO good morning", source="test", metadata={"ticket": 7})
        self.assertEqual((accepted["place"], accepted["repeated"]), (0, False))
        turn = workspace.result(accepted["turn"])
        self.assertEqual(turn["status"], "succeeded")
        self.assertIn("good morning", turn["text"])
        self.assertEqual(turn["metadata"], {"ticket": 7})
        self.assertEqual(workspace.result(accepted["turn"]), turn)  # of one that is over
        self.assertEqual(self.client.health()["status"], "healthy")
        self.assertEqual(self.client.ready()["status"], "ready")
        self.assertIn("simple", [each["id"] for each in self.client.workspaces()])
        self.assertEqual(workspace.info()["id"], "simple")

    def test_a_wrong_token_is_refused_with_what_a_program_needs_to_know_and_not_tried_again(self):
        stranger = self.server.client(token="wrong").workspace("simple")
        with mock.patch.object(Connection, "send", autospec=True, side_effect=Connection.send) as sent:
            self.fails_with("unauthorized", 401, stranger.submit, "ECHO no")
            self.fails_with("unauthorized", 401, next, stranger.events())
        self.assertEqual(sent.call_count, 2)

    def test_what_is_not_there_is_a_not_found_and_a_malformed_id_an_invalid_argument(self):
        nowhere = self.client.workspace("nowhere")
        self.fails_with("not_found", 404, nowhere.turn, UNKNOWN)
        self.fails_with("not_found", 404, next, nowhere.events())
        self.fails_with("invalid_argument", 400, self.client.workspace("not ok!").submit, "ECHO no")
        self.fails_with("invalid_argument", 400, nowhere.submit, "")

    def test_a_key_makes_a_repeated_submit_the_same_turn_and_another_body_with_it_is_refused(self):
        workspace = self.client.workspace("idempotent")
        first = workspace.submit("ECHO once", idempotency_key="order-7")
        again = workspace.submit("ECHO once", idempotency_key="order-7")
        self.assertEqual((again["turn"], again["repeated"]), (first["turn"], True))
        with self.assertRaises(tidemark.TidemarkError) as caught:
            workspace.submit("ECHO other", idempotency_key="order-7")
        self.assertEqual((caught.exception.code, caught.exception.status), ("conflict", 422))

    def test_a_submit_whose_answer_is_lost_is_tried_again_and_makes_one_turn(self):
        workspace = self.client.workspace("lossy")
        send, lost = Connection.send, []

        def lossy(*arguments, **named):
            response = send(*arguments, **named)
            if len(lost) < 2:
                lost.append(response.read())
                raise tidemark.TidemarkError("unreachable", 0, "the connection broke", True)
            return response

        with mock.patch.object(Connection, "send", autospec=True, side_effect=lossy):
            accepted = workspace.submit("ECHO once")
        self.assertTrue(accepted["repeated"])
        self.assertEqual([turn["turn"] for turn in workspace.turns()], [accepted["turn"]])

    def test_running_and_waiting_turns_are_cancelled_each_exactly(self):
        workspace = self.client.workspace("cancelled")
        runs = workspace.submit("WORDS 100000 5")["turn"]
        waits = workspace.submit("ECHO never")["turn"]
        stays = workspace.submit("ECHO stays")["turn"]
        self.assertEqual(workspace.cancel(waits), {"turn": waits, "cancelled": True})
        self.assertEqual(workspace.cancel(runs), {"turn": runs, "cancelled": True})
        states = [workspace.result(turn)["status"] for turn in (runs, waits, stays)]
        self.assertEqual(states, ["cancelled", "cancelled", "succeeded"])
        self.assertEqual(workspace.cancel(runs), {"turn": runs, "cancelled": False})

    def test_a_turn_is_interrupted_in_band(self):
        workspace = self.client.workspace("interrupted")
        turn = workspace.submit("WORDS 100000 5")["turn"]
        with workspace.events(turn=turn, types=["item.delta"]) as events:
            self.assertEqual(next(events)["turn"], turn)
        self.assertTrue(workspace.interrupt(turn)["cancelled"])
        self.assertEqual(workspace.result(turn)["status"], "cancelled")

    def test_all_turns_are_listed_newest_first_across_pages(self):
        workspace = self.client.workspace("pages")
        submitted = [workspace.submit(f"ECHO {i}")["turn"] for i in range(5)]
        workspace.result(submitted[-1])
        self.assertEqual([turn["turn"] for turn in workspace.turns(page_size=2)], submitted[::-1])

    def test_a_server_that_is_not_there_is_unreachable_once_the_time_for_it_is_up(self):
        with socket.socket() as taken:  # nobody listens there
            taken.bind(("127.0.0.1", 0))
            nobody = tidemark.Client(f"http://127.0.0.1:{taken.getsockname()[1]}", retry_for=0.001)
            self.fails_with("unreachable", 0, nobody.health)
            self.fails_with("unreachable", 0, next, nobody.workspace("any").events(retry_for=0.001))


if __name__ == "__main__":
    unittest.main()
