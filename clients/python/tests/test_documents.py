"""What is made from, or says the same as, something else."""
import json
import re
import sys
import unittest
import urllib.request

from .server import ROOT
from .support import ServerTest

sys.path.insert(0, str(ROOT / "clients/python"))
import generate_types  # noqa: E402

BLOCK = re.compile(r"^```(?:python|ts)\n(?:#|//) (clients/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Documents(ServerTest):
    def test_the_types_are_those_of_the_servers_description(self):
        request = urllib.request.Request(f"{self.server.url}/openapi.json",
                                         headers={"Authorization": f"Bearer {self.server.token}"})
        with urllib.request.urlopen(request) as response:
            made = generate_types.generate(json.load(response))
        kept = (ROOT / "clients/python/tidemark/types.py").read_text(encoding="utf-8")
        self.assertEqual(made, kept, "run generate_types.py")

    def test_the_page_shows_the_examples_as_they_are(self):
        page = (ROOT / "docs/clients.md").read_text(encoding="utf-8")
        shown = BLOCK.findall(page)
        self.assertGreaterEqual(len(shown), 5)
        for file, text in shown:
            self.assertEqual(text, (ROOT / file).read_text(encoding="utf-8"), file)


if __name__ == "__main__":
    unittest.main()
