"""The supervisor, with small real programs: restarts, the end of everything, a violent death."""

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from framekiln.cli.supervisor import RestartPolicy
from framekiln.kit.folder_lock import FolderInUse, lock_folder, lock_holder
from tests.support.timeouts import TIMEOUT_S

# Writes its pid and waits; with "stubborn" it ignores the request to end, with "slow" it ends when
# a file called "go" is there. It has a child of its own which leaves the process group, as a
# browser does.
PROGRAM = """
import os, signal, subprocess, sys, time
folder, name, stubborn = sys.argv[1], sys.argv[2], "stubborn" in sys.argv
def asked(*_):
    open(f"{folder}/{name}-asked", "w").close()
    while stubborn or not os.path.exists(f"{folder}/go"):
        time.sleep(0.02)
    open(f"{folder}/{name}-clean", "w").close()
    inner.kill()
    sys.exit()
if stubborn or "slow" in sys.argv:
    signal.signal(signal.SIGTERM, asked)
inner = subprocess.Popen(["sleep", "600"], start_new_session=True)
print(name, "is up", flush=True)
open(f"{folder}/{name}.tmp", "w").write(f"{os.getpid()} {inner.pid}")
os.rename(f"{folder}/{name}.tmp", f"{folder}/{name}.{os.getpid()}")
time.sleep(600)
"""

SUPERVISOR = """
import asyncio, sys
from framekiln.cli.signals import run_until_signal
from framekiln.cli.supervisor import RestartPolicy, Supervisor
from framekiln.kit.processes import Program

folder, program, names = sys.argv[1], sys.argv[2], sys.argv[3:]

async def run(supervisor):
    async with supervisor:
        for name in names:
            argv = (sys.executable, "-c", program, folder, *name.split("+"))
            await supervisor.start(Program(
                name.split("+")[0],
                argv,
                stop_timeout_s=600 if "patience" in name else 0.5,
                needs_clean_stop="unhurried" in name,
            ))
        await asyncio.Event().wait()

def sink(name, line):
    print(f"{name}: {line}", flush=True)

supervisor = Supervisor(sink=sink, policy=RestartPolicy(first_delay_s=0.01))
asyncio.run(run_until_signal(run(supervisor), insist=supervisor.kill_children))
print("stopped", flush=True)
"""


class SupervisorProcess:
    """A supervisor in a process of its own, and the programs it keeps."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self.folder = folder
        self.process = subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, str(folder), PROGRAM, *names],
            stdout=subprocess.PIPE,
            text=True,
        )

    def seen(self, name: str) -> set[int]:
        """Return the first pid of every start of the program so far."""
        return {int(path.suffix[1:]) for path in self.folder.glob(f"{name}.[0-9]*")}

    def all_pids(self) -> set[int]:
        """Return every process that was ever started, inner ones too."""
        pids = {self.process.pid}
        for path in self.folder.glob("*.[0-9]*"):
            pids |= {int(word) for word in path.read_text().split()}
        return pids

    def inner(self, name: str, pid: int) -> int:
        """Return the pid of that program's own child."""
        return int((self.folder / f"{name}.{pid}").read_text().split()[1])

    async def started(self, name: str, *, besides: set[int] | None = None) -> int:
        """Wait for a start of the program that is not among `besides`."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if fresh := self.seen(name) - (besides or set()):
                    return fresh.pop()
                await asyncio.sleep(0.02)

    async def wrote(self, name: str) -> None:
        """Wait for a file that a program leaves."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                if (self.folder / name).exists():
                    return
                await asyncio.sleep(0.02)

    async def output(self) -> str:
        """Return what the supervisor wrote, once it has ended."""
        return (await asyncio.to_thread(self.process.communicate, timeout=TIMEOUT_S))[0]


@contextlib.contextmanager
def watch(folder: Path, *names: str) -> Iterator[SupervisorProcess]:
    running = SupervisorProcess(folder, names)
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.process.terminate()
        running.process.wait()
        assert running.process.stdout
        running.process.stdout.close()


def is_running(pid: int) -> bool:
    """Whether the process still runs; a zombie nobody collected does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


async def all_gone(pids: set[int], *, counting_zombies: bool = False) -> None:
    counts = (lambda pid: Path(f"/proc/{pid}").exists()) if counting_zombies else is_running
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            if not any(map(counts, pids)):
                return
            await asyncio.sleep(0.02)


async def test_a_dead_child_is_started_again_and_its_orphans_end(tmp_path: Path) -> None:
    with watch(tmp_path, "one", "two") as running:
        first = await running.started("one")
        other = await running.started("two")
        orphan = running.inner("one", first)
        os.kill(first, signal.SIGKILL)
        second = await running.started("one", besides={first})
        assert is_running(second)
        await all_gone({first, orphan})
        assert running.seen("two") == {other}, "a healthy child was restarted"
        assert is_running(running.inner("two", other)), "a healthy child lost its own"
        running.process.terminate()
        output = await running.output()
    assert "one: one is up" in output
    assert "serve: one ended (killed by SIGKILL)" in output


@pytest.mark.parametrize("request_to_end", [signal.SIGTERM, signal.SIGINT])
async def test_a_stop_signal_ends_all_children(
    tmp_path: Path, request_to_end: signal.Signals
) -> None:
    with watch(tmp_path, "meek", "hard+stubborn") as running:
        await running.started("meek")
        await running.started("hard")
        pids = running.all_pids()
        assert len(pids) == 5
        running.process.send_signal(request_to_end)
        assert (await running.output()).endswith("stopped\n")
        assert running.process.returncode == 0
        # No waiting here: when the supervisor is gone, so is everything else.
        assert not [pid for pid in pids if is_running(pid)]


@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_second_signal_does_not_interrupt_the_shutdown_of_the_database(
    tmp_path: Path, again: signal.Signals
) -> None:
    with watch(tmp_path, "database+slow+patience+unhurried", "worker") as running:
        await running.started("database")
        await running.started("worker")
        running.process.terminate()
        await running.wrote("database-asked")
        for _ in range(3):
            running.process.send_signal(again)
            await asyncio.sleep(0.05)
        (tmp_path / "go").touch()
        assert (await running.output()).endswith("stopped\n")
        assert (tmp_path / "database-clean").exists()


async def test_a_second_ctrl_c_ends_a_slow_worker(tmp_path: Path) -> None:
    with watch(tmp_path, "worker+stubborn+patience") as running:
        await running.started("worker")
        running.process.send_signal(signal.SIGINT)
        await running.wrote("worker-asked")
        running.process.send_signal(signal.SIGINT)
        assert (await running.output()).endswith("stopped\n")
        assert not [pid for pid in running.all_pids() if is_running(pid)]


async def test_children_end_when_the_supervisor_is_killed(tmp_path: Path) -> None:
    with watch(tmp_path, "one", "two") as running:
        children = {await running.started("one"), await running.started("two")}
        inner = running.all_pids() - children - {running.process.pid}
        running.process.kill()
        try:
            await all_gone(children)
        finally:
            for pid in inner:
                # These got no signal; a real program forwards it to its children.
                os.kill(pid, signal.SIGKILL)


async def test_orphans_of_children_are_reaped(tmp_path: Path) -> None:
    with watch(tmp_path, "one") as running:
        inner = running.inner("one", await running.started("one"))
        os.kill(running.seen("one").pop(), signal.SIGKILL)
        await all_gone({inner}, counting_zombies=True)


async def test_ends_while_a_child_keeps_dying(tmp_path: Path) -> None:
    with watch(tmp_path, "one") as running:
        first = await running.started("one")
        (tmp_path / f"one.{first}").unlink()
        os.kill(first, signal.SIGKILL)
        running.process.terminate()
        assert (await running.output()).endswith("stopped\n")
        assert not [pid for pid in running.all_pids() if is_running(pid)]


async def test_a_child_that_never_starts_ends_the_supervisor() -> None:
    code = """
import asyncio, sys
from framekiln.cli.supervisor import ChildFailed, RestartPolicy, Supervisor
from framekiln.kit.processes import Program

async def main():
    async with Supervisor(sink=print, policy=RestartPolicy(first_delay_s=0.01)) as supervisor:
        broken = Program("broken", (sys.executable, "-c", "raise SystemExit(3)"))
        process = await supervisor.start(broken)
        try:
            await supervisor.wait_until_ready(process, asyncio.sleep(600))
        except ChildFailed as error:
            print(error.message)

asyncio.run(main())
"""
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert "broken exited 3 times while starting" in done.stdout
    assert "exit code 3" in done.stdout
    assert done.returncode == 0, done.stderr


def test_pauses_grow_to_their_limit() -> None:
    policy = RestartPolicy()
    assert [policy.delay_s(n) for n in range(1, 8)] == [0.5, 1, 2, 4, 8, 10, 10]
    assert policy.delay_s(5000) == 10


def run_serve(folder: Path, port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "FRAMEKILN_DATA": str(folder), "FRAMEKILN_PORT": str(port)}
    return subprocess.run(
        [sys.executable, "-m", "framekiln", "serve"],
        capture_output=True,
        check=False,
        env=environment,
        text=True,
        timeout=TIMEOUT_S,
    )


def test_a_port_in_use_is_one_line_and_nothing_is_started(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run_serve(tmp_path, port)
    assert done.returncode == 1
    expected = f"error: port {port} on 127.0.0.1 is already in use; set FRAMEKILN_PORT\n"
    assert done.stderr == expected
    assert not (tmp_path / "pg").exists()


def test_a_second_serve_on_the_same_data_names_the_first(tmp_path: Path) -> None:
    with lock_folder(tmp_path):
        done = run_serve(tmp_path, 1)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"error: another framekiln (pid {os.getpid()}) uses")


def test_a_lock_that_is_looked_at_can_be_taken_a_moment_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "serve.lock"
    path.touch()
    with path.open() as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        waits: list[float] = []

        def wait(seconds: float) -> None:
            waits.append(seconds)
            fcntl.flock(looking, fcntl.LOCK_UN)

        monkeypatch.setattr("framekiln.kit.folder_lock.time.sleep", wait)
        with lock_folder(tmp_path):
            assert lock_holder(tmp_path) == os.getpid()
    assert len(waits) == 1


def test_a_folder_with_an_owner_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command beside a running service comes by here."""
    waits: list[float] = []
    monkeypatch.setattr("framekiln.kit.folder_lock.time.sleep", waits.append)
    with lock_folder(tmp_path), pytest.raises(FolderInUse), lock_folder(tmp_path):
        pass
    assert waits == []


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    with lock_folder(tmp_path), pytest.raises(FolderInUse), lock_folder(tmp_path):
        pass
    with lock_folder(tmp_path):
        assert (tmp_path / "serve.lock").read_text() == f"{os.getpid()}\n"
