"""`framekiln` for shells in tests, without the time in which each process imports its modules.

One process has imported everything. The program `framekiln` in a folder of its own sends it the
words, the folder, the environment and the three streams of a command; a fork runs the command.
"""

import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from framekiln.cli.commands import COMMANDS
from framekiln.cli.program import app
from tests.support.timeouts import TIMEOUT_S

ROOT = Path(__file__).parents[2]
_NOT_PRELOADED: Final = {"serve", "api", "worker", "migrate", "preview", "mcp", "doctor"}
"""Commands that no test of a document runs, with large imports."""
_IMPORTED_LATE: Final = ("framekiln.cli.local_film", "framekiln.client", "framekiln.engine.film")
"""What commands import when they need it."""
_LENGTH: Final = struct.Struct("!I")
_PROGRAM: Final = """#!{python} -ISE
import json, os, socket, struct, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    command = {{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
    sent = json.dumps(command).encode()
    socket.send_fds(server, [struct.pack("!I", len(sent))], [0, 1, 2])
    server.sendall(sent)
    sys.exit(int(server.recv(10) or b"1"))
"""


@contextmanager
def preloaded_commands() -> Iterator[Path]:
    """Return a folder for PATH, whose `framekiln` is the one of this Python."""
    folder = Path(tempfile.mkdtemp())
    address = str(folder / "socket")
    program = folder / "framekiln"
    program.write_text(_PROGRAM.format(python=sys.executable, address=address))
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(address)
        server.listen()
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(server.fileno())],
            cwd=ROOT,
            pass_fds=[server.fileno()],
        )
    try:
        yield folder
    finally:
        process.terminate()
        process.wait(TIMEOUT_S)
        shutil.rmtree(folder)


def main() -> None:
    """Run the commands that come, each in a fork."""
    for name in COMMANDS.keys() - _NOT_PRELOADED:
        import_module(f"framekiln.cli.{COMMANDS[name].target.partition(':')[0]}")
    for name in _IMPORTED_LATE:
        import_module(name)
    # Nobody waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=int(sys.argv[1])) as server:
        while True:
            client, _ = server.accept()
            with client:
                if os.fork() == 0:
                    _serve(client)


def _serve(client: socket.socket) -> None:
    status = 1
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        length, streams, _, _ = socket.recv_fds(client, _LENGTH.size, 3)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        with client.makefile("rb") as sent:
            status = _run(json.loads(sent.read(*_LENGTH.unpack(length))))
        client.sendall(str(status).encode())
    except Exception:
        traceback.print_exc()
    finally:
        # Without the exit handlers of the process that was forked.
        os._exit(status)


def _run(command: dict[str, Any]) -> int:
    os.chdir(command["folder"])
    os.environ.clear()
    os.environ.update(command["environment"])
    sys.argv = ["framekiln", *command["words"]]
    try:
        app(prog_name="framekiln")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


if __name__ == "__main__":
    main()
