"""What the tests share."""
import unittest

from .server import Server


class ServerTest(unittest.TestCase):
    """Tests against one server for all of the class."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.server = Server()
        cls.addClassCleanup(cls.server.end)
        cls.client = cls.server.client()

    def assert_dense(self, events, first: int = 1) -> None:
        """That these are the offsets 1, 2, 3 … to the last."""
        self.assertEqual([e["offset"] for e in events], list(range(first, first + len(events))))


def completes(event, turn: str) -> bool:
    return event["type"] == "turn.completed" and event["turn"] == turn


def read_until(events, turn: str) -> list:
    """Everything up to the turn's end."""
    seen = []
    for event in events:
        seen.append(event)
        if completes(event, turn):
            break
    events.close()
    return seen
