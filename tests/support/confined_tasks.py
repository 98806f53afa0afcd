"""Functions that run in a confined child: legitimate ones, and those of an attacker."""

import ctypes
import os
import resource
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from framekiln.media.errors import UnreadableMedia

Report = Callable[[dict[str, Any]], None]


def add(args: dict[str, Any], report: Report) -> dict[str, Any]:
    print("this goes nowhere near the answer")  # noqa: T201
    os.write(1, b'{"result": {"sum": -1}}\n')
    for number in args["numbers"]:
        report({"number": number})
    Path("written").write_text("by the child")
    return {"sum": sum(args["numbers"])}


def leave_a_file(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Return what is in the folder, leave something there, and wait for a file elsewhere."""
    seen = sorted(each.name for each in Path().iterdir())
    Path("left").write_text("by the child")
    while not Path(args["awaited"]).exists():
        time.sleep(0.01)
    return {"seen": seen}


def report_access(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Try everything that a decoder must not do; report what worked."""
    worked = []
    for name, attempt in _attempts(args).items():
        try:
            attempt()
        except OSError:
            continue
        worked.append(name)
    limits = [resource.getrlimit(each) for each in (resource.RLIMIT_RTPRIO, resource.RLIMIT_NICE)]
    return {
        "worked": worked,
        "environment": sorted(os.environ),
        "user": os.geteuid(),
        "priority_limits": limits,
        "scheduling": os.sched_getscheduler(0),
    }


def _attempts(args: dict[str, Any]) -> dict[str, Callable[[], object]]:
    def connect() -> None:
        with socket.socket() as connection:
            connection.connect(("127.0.0.1", args["port"]))

    return {
        "read": lambda: Path(args["secret"]).read_bytes(),
        "list": lambda: _find(Path(args["secret"])),
        "change": lambda: Path(args["given"]).write_text("changed"),
        "create": lambda: Path(args["given"]).with_name("new").write_text("new"),
        "read another's": lambda: Path(args["other"], "begun").read_text(),
        "plant at another's": lambda: Path(args["other"], "planted").write_text("x"),
        "find another's": lambda: _find(Path(args["other"])),
        "connect": connect,
        "environment of the parent": lambda: Path(f"/proc/{os.getppid()}/environ").read_bytes(),
        "fork": _fork,
        "realtime": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
        "raise priority": lambda: os.nice(-1),
        "program": lambda: os.posix_spawn("/usr/bin/true", ["true"], {}),
        "signal": lambda: os.kill(os.getppid(), 0),
        "outside": lambda: Path(sys.prefix, "planted").write_text("x"),
        "memory": lambda: Path("/dev/shm/planted").write_text("x"),
        "root": lambda: Path("/planted").write_text("x"),
    }


def _find(path: Path) -> None:
    """Find a path by listing its parent folder."""
    if path not in path.parent.iterdir():
        raise FileNotFoundError(path)


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def remember(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Store a value where another task of the same process would find it."""
    before = _kept[-1] if _kept else None
    _kept.append(args["value"])
    return {"before": before}


_kept: list[str] = []


def wait_for(args: dict[str, Any], report: Report) -> dict[str, Any]:
    report({"started": True})
    while not Path(args["name"]).exists():
        time.sleep(0.01)
    return {"found": True}


def read(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    return {"text": Path(args["path"]).read_text()}


def try_to_write(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    """Try everything that changes a file; return its text before that."""
    path = Path(args["path"])
    text = path.read_text()
    for attempt in (
        lambda: path.write_text("changed"),
        lambda: os.truncate(path, 0),
        lambda: os.close(os.open(path, os.O_RDONLY | os.O_TRUNC)),
        lambda: path.chmod(0o666),
        lambda: os.utime(path, (1, 1)),
        lambda: os.link(path, "taken"),
        path.unlink,
    ):
        with suppress(OSError):
            attempt()
    return {"text": text}


def use_threads(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    ran: list[int] = []
    threads = [threading.Thread(target=ran.append, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {"ran": sorted(ran)}


def raise_own_error(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    raise UnreadableMedia("a.mp4: no", track=3)


def raise_foreign_error(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    raise KeyError("who knows")


def raise_own_error_from_memory_error(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    try:
        bytearray(1 << 33)
    except MemoryError as error:
        raise UnreadableMedia("a.mp4: cannot allocate") from error
    return {}


def loop(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    while True:
        pass


def sleep(_args: dict[str, Any], report: Report) -> dict[str, Any]:
    report({"started": True})
    time.sleep(600)
    return {}


def allocate(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    kept = []
    while True:
        kept.append(bytearray(b"x") * (8 << 20))


def fill_disk(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    with Path("big").open("wb") as file:
        while True:
            file.write(bytes(1 << 20))


def open_files(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    kept = []
    while True:
        kept.append(Path("one").open("wb"))  # noqa: SIM115


def fork_bomb(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    while True:
        os.fork()


def report_endlessly(_args: dict[str, Any], report: Report) -> dict[str, Any]:
    while True:
        report({"words": "x" * 10_000})


def one_endless_line(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    while True:
        os.write(int(sys.argv[1]), b"x" * 65536)


def write_forged_messages(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    os.write(int(sys.argv[1]), args["line"].encode() + b"\n")
    time.sleep(600)
    return {}


def return_many_values(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    return {"values": [{}] * 200_001}


def return_a_long_number(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    return {"number": 10**4000, "more": "x" * 200_000}


def exit_without_result(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    os._exit(0)


def exit_with_zero(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    sys.exit(0)


def crash(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    sys.stderr.write("last words\n")
    sys.stderr.flush()
    ctypes.string_at(0)
    return {}


def abort(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    os.abort()


def close_everything(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    os.closerange(0, 64)
    return {}


def leave_a_link(args: dict[str, Any], _report: Report) -> dict[str, Any]:
    Path("real").write_text("fine")
    Path("track.mp4").symlink_to(args["secret"])
    return {}


def leave_deep_folders(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    for _ in range(40):
        Path("track.mp4").mkdir()
        os.chdir("track.mp4")
    return {}


def leave_a_pipe(_args: dict[str, Any], _report: Report) -> dict[str, Any]:
    Path("deep").mkdir()
    os.mkfifo("deep/track.mp4")
    return {}
