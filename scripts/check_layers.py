#!/usr/bin/env python3
"""Checks that folders are layers (docs/architecture.md): who may include whom, and which library where.

usage: check_layers.py [root]     prints each violation as file:line, exits 1 if there is one
"""
import pathlib
import re
import sys

from source_check import run, source_files

LAYERS = ["base", "metrics", "storage", "replay", "agents", "process", "actors", "http", "app"]

# Library headers -> where they may stand. A trailing ".cpp" means: not in headers.
LIBRARIES = {
    r"rocksdb/": ["storage/*.cpp", "tests/storage/*", "tests/faults/log/*", "bench/*"],
    r"caf/": ["actors/*", "http/*", "app/*.cpp", "tests/actors/*", "tests/http/*", "bench/*"],
    r"boost/": ["process/*.cpp", "actors/*", "http/*", "app/*.cpp", "cmake/asio/*",
                "tests/process/*", "tests/actors/*", "tests/http/*", "tests/fuzz/*", "bench/*"],
    r"prometheus/": ["metrics/*.cpp"],
    r"openssl/": ["storage/*.cpp", "agents/*.cpp", "actors/*.cpp", "http/*.cpp", "app/*.cpp", "tests/*",
                  "agents/demo_*"],
    r"(CLI/|toml\+\+/|curl/)": ["app/*.cpp", "app/curl_library.hpp", "tests/*", "bench/*"],
    r"spdlog/": ["base/*.cpp"],
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def violations(root: pathlib.Path):
    for path, relative in source_files(root):
        folder = relative.parts[0]
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            target = found.group(2)
            top = target.split("/")[0]
            if found.group(1) == '"' and top in LAYERS and folder in LAYERS:
                if LAYERS.index(top) > LAYERS.index(folder):
                    yield f"{relative}:{number}: {folder}/ may not include {top}/ (it lies below)"
            for pattern, allowed in LIBRARIES.items():
                if found.group(1) == "<" and re.match(pattern, target):
                    if not any(relative.match(glob) or str(relative).startswith(glob.rstrip("*"))
                               and glob.endswith("*") and "." not in glob for glob in allowed):
                        yield f"{relative}:{number}: <{target}> is allowed only in {', '.join(allowed)}"


if __name__ == "__main__":
    sys.exit(run("layers", violations))
