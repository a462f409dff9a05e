import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from .server import ROOT
from .support import ServerTest

HERE = ROOT / "clients/python"


class Examples(ServerTest):
    def run_example(self, name: str, *arguments: str) -> str:
        env = {**os.environ, "TIDEMARK_SERVER": self.server.url, "TIDEMARK_TOKEN": self.server.token,
               "PYTHONPATH": str(HERE)}
        done = subprocess.run([sys.executable, str(HERE / "examples" / f"{name}.py"), *arguments], env=env, text=True,
                              stdout=subprocess.PIPE, check=True)
        return done.stdout

    def test_follow_prints_the_answer_and_how_it_ended(self):
        printed = self.run_example("follow")
        self.assertEqual(len(printed.splitlines()[0].split()), 12)
        self.assertRegex(printed, r"\nsucceeded, \d+ tokens\n$")

    def test_follow_async_follows_all(self):
        printed = sorted(self.run_example("follow_async").splitlines())
        self.assertEqual(printed, ["one succeeded", "three succeeded", "two succeeded"])

    def test_keep_up_handles_each_event_once_over_two_runs(self):
        workspace = self.client.workspace("kept")
        printed = ""
        with tempfile.TemporaryDirectory() as directory:
            for prompt in ("WORDS 3", "ECHO two"):
                turn = workspace.submit(prompt)["turn"]
                printed += self.run_example("keep_up", "kept", str(pathlib.Path(directory, "cursor")), turn)
        offsets = [int(found) for found in re.findall(r"(?m)^(\d+) ", printed)]
        self.assertEqual(offsets, list(range(1, len(offsets) + 1)))
        self.assertEqual(printed.count("turn.completed"), 2)


if __name__ == "__main__":
    unittest.main()
