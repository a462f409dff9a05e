#!/usr/bin/env python3
"""Builds the inspector with npm and writes its files, compressed, as C++ (http/ui_files.hpp).

usage: embed.py --mode ON|OFF|AUTO --built DIR --into FILE.cpp

AUTO: where Node.js 18 or npm is missing or fails, as without a network, the file holds nothing and the
build goes on. ON: that is an error. OFF: nothing is tried.
"""
import argparse
import fcntl
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OLDEST_NODE = 18
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml; charset=utf-8",
    ".woff2": "font/woff2",
}


class Unavailable(Exception):
    """Why the inspector cannot be built here."""


def run(*command: str) -> None:
    done = subprocess.run(command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}")


def check_tools() -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        raise Unavailable("node and npm are not installed")
    version = subprocess.run(["node", "-p", "process.versions.node"], capture_output=True, text=True, check=False)
    if version.returncode != 0 or int(version.stdout.split(".")[0]) < OLDEST_NODE:
        raise Unavailable(f"node is older than {OLDEST_NODE}: {version.stdout.strip()}")


def install() -> None:
    """What the lock file names, unless it is there already. Several builds may want it at once."""
    with open(HERE / "package-lock.json", "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        mark = HERE / "node_modules" / ".tidemark-lock"
        wanted = hashlib.sha256(lock.read()).hexdigest()
        if mark.exists() and mark.read_text() == wanted:
            return
        run("npm", "ci", "--loglevel=error")
        mark.write_text(wanted)


def build(into: pathlib.Path) -> None:
    check_tools()
    install()
    run("npx", "--no-install", "vite", "build", "--outDir", str(into), "--emptyOutDir", "--logLevel", "warn")


def literal(data: bytes) -> str:
    """A string literal in lines of bounded length. Octal escapes of three digits cannot run on."""
    lines = (data[at:at + 64] for at in range(0, len(data), 64))
    return "\n".join('    "' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines) or '""'


def entry(root: pathlib.Path, path: pathlib.Path) -> str:
    content = path.read_bytes()
    packed = gzip.compress(content, 9, mtime=0)
    etag = hashlib.sha256(content).hexdigest()[:24]
    return (f'  {{"{path.relative_to(root).as_posix()}", "{TYPES[path.suffix]}", "W/\\"{etag}\\"",\n'
            f"   std::string_view{{\n{literal(packed)},\n    {len(packed)}}}, {len(content)}}},\n")


def source(root: pathlib.Path | None) -> str:
    files = sorted(path for path in root.rglob("*") if path.is_file()) if root else []
    head = ('// Made by web/embed.py.\n#include "http/ui_files.hpp"\n\n#include <array>\n\n'
            f"namespace tidemark {{\n\nnamespace {{\n\nconstexpr std::array<ui_file, {len(files)}> files{{{{\n")
    tail = "}};\n\n} // namespace\n\nstd::span<const ui_file> ui_files() noexcept {\n  return files;\n}\n\n} // namespace tidemark\n"
    if not files:
        head = head.replace("{{\n", "{\n")
        tail = tail.replace("}};", "};", 1)
    return head + "".join(entry(root, path) for path in files) + tail


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mode", choices=["ON", "OFF", "AUTO"], required=True)
    parser.add_argument("--built", type=pathlib.Path, required=True)
    parser.add_argument("--into", type=pathlib.Path, required=True)
    given = parser.parse_args()
    built = None
    if given.mode != "OFF":
        try:
            build(given.built)
            built = given.built
        except Unavailable as why:
            print(f"the inspector is not built: {why}", file=sys.stderr)
            if given.mode == "ON":
                return 1
    given.into.write_text(source(built))
    return 0


if __name__ == "__main__":
    sys.exit(main())
