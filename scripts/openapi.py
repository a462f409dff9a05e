#!/usr/bin/env python3
"""docs/openapi.yaml as JSON, or as the C++ source that carries it in the program.

usage: openapi.py json|cpp <openapi.yaml> [output]     needs PyYAML (Debian: python3-yaml)
"""
import json
import pathlib
import sys

import yaml

PLAIN = (str, int, float, bool, type(None))

SOURCE = """// Made by scripts/openapi.py from docs/openapi.yaml.
#include "http/openapi.hpp"

namespace tidemark {{

std::string_view openapi_document() noexcept {{
  return R"openapi({})openapi";
}}

}} // namespace tidemark
"""


def check(node, where: str) -> None:
    """YAML has more types than JSON, and reads some texts as them: 200 as a key, no, 2026-01-01."""
    if isinstance(node, dict):
        for key, value in node.items():
            if not isinstance(key, str):
                sys.exit(f"openapi.py: {where}: the key {key!r} is no text; put it in quotes")
            check(value, f"{where}/{key}")
    elif isinstance(node, list):
        for index, value in enumerate(node):
            check(value, f"{where}/{index}")
    elif not isinstance(node, PLAIN):
        sys.exit(f"openapi.py: {where}: {node!r} has no form in JSON; put it in quotes")


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that stands twice, of which YAML readers take the last without a word."""

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key) for key, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {name!r} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def main(form: str, source: str, output: str = "-") -> None:
    document = yaml.load(pathlib.Path(source).read_text(encoding="utf-8"), StrictLoader)
    check(document, "")
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    text = SOURCE.format(text) if form == "cpp" else text + "\n"
    if output == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(output).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in ("json", "cpp"):
        sys.exit(__doc__)
    main(*sys.argv[1:])
