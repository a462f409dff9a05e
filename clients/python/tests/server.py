"""A real server with the demo agent, its data in a directory of its own."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import tidemark

ROOT = pathlib.Path(__file__).resolve().parents[3]
PROGRAMS = pathlib.Path(os.environ.get("TIDEMARK_TEST_BIN", ROOT / "build/release/bin"))
START_LIMIT = 30  # seconds
LISTENS = re.compile(r"listening on http://[^:\s]+:(\d+)\s")


class Server:
    token = "token-of-the-tests"

    def __init__(self) -> None:
        self._directory = pathlib.Path(tempfile.mkdtemp(prefix="tidemark-client-"))
        self._process = None
        self._port = "0"
        self.launch()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def client(self, token: str = token, **options) -> tidemark.Client:
        return tidemark.Client(self.url, token, **options)

    def launch(self) -> None:
        """On the port that it had before, if it had one."""
        at = self._directory
        # So that a killed test leaves no server behind.
        argv = ["/usr/bin/setpriv", "--pdeathsig", "KILL", str(PROGRAMS / "tidemark"), "serve"]
        self._process = subprocess.Popen(
            argv, cwd=at, text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(at), "HOST": "127.0.0.1", "PORT": self._port,
                 "INTERNAL_API_TOKEN": self.token, "WORKSPACE_ROOT": str(at / "workspaces"),
                 "SETTINGS_PATH": str(at / "settings.json"), "TIDEMARK_DATA_DIR": str(at / "data"),
                 "TIDEMARK_AGENT": "demo", "TIDEMARK_PERMISSIONS_ASK": "denied"})
        process, printed, listens = self._process, [], threading.Event()

        def read() -> None:
            for line in process.stdout:
                printed.append(line)
                if LISTENS.search(line):
                    listens.set()
            listens.set()

        self._output = threading.Thread(target=read)
        self._output.start()
        listens.wait(START_LIMIT)
        found = LISTENS.search("".join(printed))
        if not found:
            self.end()
            raise AssertionError("the server does not listen; it printed:\n" + "".join(printed))
        self._port = found[1]

    def _wait(self) -> None:
        self._process.wait()
        self._output.join()
        self._process.stdout.close()
        self._process = None

    def kill(self) -> None:
        """As if the machine had died."""
        self._process.kill()
        self._wait()

    def end(self) -> None:
        if self._process is not None:
            self._process.terminate()  # so that it ends its agents
            self._wait()
        shutil.rmtree(self._directory, ignore_errors=True)
