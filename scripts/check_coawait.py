#!/usr/bin/env python3
"""Keeps temporaries that g++ 12 destroys twice out of co_await expressions.

To the right of co_await, up to the end of the statement, there may be no lambda that captures by
value, no braced aggregate and no conditional that moves one of its operands (docs/decisions: coroutine
temporaries). Name it first, then move it.

usage: check_coawait.py [root]     prints each violation as file:line, exits 1 if there is one
"""
import pathlib
import re
import sys

from source_check import run, source_files

CODE = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|R"\((?:.|\n)*?\)"')
CAPTURE = re.compile(r"(?<![\w\])])\[(?!\s*\])(?!\s*&)[^\]]*\]\s*(\(|\{|mutable)")
# Types with real constructors are safe: only aggregates are destroyed twice.
CONSTRUCTED = re.compile(r"\bstd::(string|string_view|chrono::\w+)\s*\{[^{}]*\}")
# Its other operand is copied into a temporary.
CONDITIONAL = re.compile(r"\?(?:(?!\?).)*\bstd::move\(", re.DOTALL)
BRACES = re.compile(r"[\w>]\s*\{|\(\s*\{|,\s*\{")


def statement_after(code: str, start: int) -> str:
    depth = 0
    for at in range(start, len(code)):
        c = code[at]
        if c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
            if depth < 0:
                return code[start:at]
        elif c == ";" or (c == "{" and depth == 0):
            return code[start:at]
    return code[start:]


def violations(root: pathlib.Path):
    for path, relative in source_files(root):
        # Strings and comments become blanks of the same length, so that line numbers stay.
        code = CODE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), path.read_text(errors="replace"))
        for found in re.finditer(r"\bco_await\b", code):
            statement = CONSTRUCTED.sub("x", statement_after(code, found.end()))
            if any(each.search(statement) for each in (CAPTURE, BRACES, CONDITIONAL)):
                line = code.count("\n", 0, found.start()) + 1
                yield f"{relative}:{line}: a lambda, braces or a conditional that moves to the right of co_await"


if __name__ == "__main__":
    sys.exit(run("co_await", violations))
