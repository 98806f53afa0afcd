"""A confined child: what it may do, what it may not, and that nothing it does hurts the parent."""

import asyncio
import os
import re
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from framekiln.kit.confined.budget import ChildBudget, child_budget, set_child_budget
from framekiln.kit.confined.errors import ConfinedFailed, ConfinedKilled
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.run import describe_confinement, run_confined, run_in_sandbox, run_warm
from framekiln.kit.confined.sandbox import UNPRIVILEGED_ID, Isolation, Sandbox, strongest_sandbox
from framekiln.kit.confined.warm_sandbox import SandboxFolders, WarmSandbox, open_sandbox_folders
from framekiln.kit.processes import foreign_children
from framekiln.media.errors import UnreadableMedia
from tests.support.realtime import realtime_if_allowed
from tests.support.timeouts import TIMEOUT_S

TASKS = "tests.support.confined_tasks"
LIMITS = ResourceLimits(cpu_s=60, memory_bytes=256 << 20, file_bytes=4 << 20, wall_s=TIMEOUT_S)
Run = Callable[..., Awaitable[dict[str, Any]]]
CarryOut = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture(autouse=True)
def _no_process_is_left() -> Iterator[None]:
    before = set(foreign_children())
    yield
    assert set(foreign_children()) <= before


@pytest.fixture(params=["strongest", "without namespaces"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param == "strongest":
        return strongest_sandbox()
    return Sandbox(Isolation.NONE, "as in most containers")


@pytest.fixture
def folders() -> Iterator[SandboxFolders]:
    with open_sandbox_folders() as folders:
        yield folders


@pytest.fixture
def folder(folders: SandboxFolders) -> Path:
    return Path(tempfile.mkdtemp(dir=folders.work))


@pytest.fixture(params=["started", "forked"])
async def carry_out(
    request: pytest.FixtureRequest, sandbox: Sandbox, folders: SandboxFolders
) -> AsyncIterator[CarryOut]:
    """The two ways to a child: what holds for one holds for the other."""
    if request.param == "started":
        yield partial(run_in_sandbox, sandbox)
        return
    async with open_warm(sandbox, folders) as warm:
        yield partial(run_warm, warm)


@asynccontextmanager
async def open_warm(sandbox: Sandbox, folders: SandboxFolders) -> AsyncIterator[WarmSandbox]:
    warm = WarmSandbox(sandbox, folders, [TASKS])
    try:
        assert await warm.warm_up()
        yield warm
    finally:
        await warm.close()


@pytest.fixture
def run(carry_out: CarryOut, folder: Path) -> Run:
    async def run(
        name: str, limits: ResourceLimits = LIMITS, readable: tuple[Path, ...] = (), **args: Any
    ) -> dict[str, Any]:
        return await carry_out(ConfinedOrder(f"{TASKS}:{name}", args, limits, folder, readable))

    return run


async def test_reports_and_result_are_returned_despite_printed_lines(
    carry_out: CarryOut, folder: Path
) -> None:
    heard: list[dict[str, Any]] = []
    order = ConfinedOrder(f"{TASKS}:add", {"numbers": [1, 2, 39]}, LIMITS, folder)
    answer = await carry_out(order, heard.append)
    assert answer == {"sum": 42}
    assert heard == [{"number": 1}, {"number": 2}, {"number": 39}]
    assert (folder / "written").read_text() == "by the child"
    assert (folder / "written").stat().st_uid == os.geteuid()


async def test_an_order_may_be_long(run: Run) -> None:
    assert await run("add", numbers=[1], ignored="x" * 1_000_000) == {"sum": 1}


@pytest.mark.parametrize("way", ["started", "forked"])
@pytest.mark.parametrize("isolation", Isolation)
async def test_the_child_sees_only_the_given_files(
    isolation: Isolation,
    way: str,
    folders: SandboxFolders,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if (
        strongest_sandbox().isolation is not Isolation.NAMESPACES_AND_USER
        and isolation is not Isolation.NONE
    ):
        pytest.skip("children are confined in all ways only by root, with user namespaces")
    monkeypatch.setenv("DATABASE_URL", "postgresql://somebody:secret@host/db")
    # Another's source, of another organization, in the same room.
    given, secret = folders.sources / "given", folders.sources / "secret"
    secret.write_text("of another organization")
    given.write_text("to read")
    other = folder.with_name("other")
    other.mkdir()
    other.chmod(0o777)
    (other / "begun").write_text("another's work")
    sandbox = Sandbox(isolation, "")
    with socket.create_server(("127.0.0.1", 0)) as server:
        places = {"secret": str(secret), "given": str(given), "port": server.getsockname()[1]}
        order = ConfinedOrder(
            f"{TASKS}:report_access", {**places, "other": str(other)}, LIMITS, folder, (given,)
        )
        with realtime_if_allowed():
            if way == "started":
                seen = await run_in_sandbox(sandbox, order)
            else:
                async with open_warm(sandbox, folders) as warm:
                    seen = await run_warm(warm, order)
    assert seen["worked"] == []
    assert seen["scheduling"] == os.SCHED_OTHER
    assert seen["priority_limits"] == [[0, 0], [0, 0]]
    assert "DATABASE_URL" not in seen["environment"]
    assert given.read_text() == "to read"
    assert [path.name for path in other.iterdir()] == ["begun"]


async def test_given_files_and_those_in_the_folder_can_be_read(
    run: Run, folders: SandboxFolders, folder: Path
) -> None:
    given, brought = folders.sources / "given", folder / "brought"
    given.write_text("one")
    brought.write_text("two")
    brought.chmod(0o600)
    assert await run("read", readable=(given,), path=str(given)) == {"text": "one"}
    assert await run("read", path=str(brought)) == {"text": "two"}


async def test_a_file_with_a_second_link_is_not_changed(run: Run, folders: SandboxFolders) -> None:
    blob, given = folders.sources.with_name("blob"), folders.sources / "given"
    blob.write_text("of many names")
    blob.chmod(0o644)
    given.hardlink_to(blob)
    before = blob.stat()
    assert await run("try_to_write", readable=(given,), path=str(given)) == {
        "text": "of many names"
    }
    after = blob.stat()
    assert blob.read_text() == "of many names"
    assert (after.st_mode, after.st_uid, after.st_mtime_ns) == (
        before.st_mode,
        before.st_uid,
        before.st_mtime_ns,
    )
    assert await run("read", readable=(given,), path=str(given))


async def test_a_file_with_a_second_link_is_never_made_writable(
    run: Run, folders: SandboxFolders, folder: Path
) -> None:
    blob = folders.sources.with_name("blob")
    blob.write_text("of many names")
    (folder / "source").hardlink_to(blob)
    with pytest.raises(ConfinedFailed, match=r"^source: the file has another hard link"):
        await run("try_to_write", path="source")
    assert (blob.read_text(), blob.stat().st_uid) == ("of many names", os.geteuid())


async def test_the_child_of_root_is_not_root(folder: Path) -> None:
    if strongest_sandbox().isolation is Isolation.NONE:
        pytest.skip("this machine has no user namespaces, so children are not confined")
    args = {"secret": "/none/none", "given": "/none/none", "other": "/none/none", "port": 1}
    seen = await run_confined(f"{TASKS}:report_access", args, limits=LIMITS, folder=folder)
    assert seen["user"] == UNPRIVILEGED_ID


async def test_threads_are_allowed(run: Run) -> None:
    assert await run("use_threads") == {"ran": list(range(8))}


async def test_framekiln_errors_are_raised_with_their_class(run: Run) -> None:
    with pytest.raises(UnreadableMedia, match=r"^a\.mp4: no$") as caught:
        await run("raise_own_error")
    assert caught.value.details == {"track": 3}
    assert caught.value.code == "unreadable_media"


async def test_other_errors_are_raised_with_their_name(run: Run) -> None:
    with pytest.raises(ConfinedFailed, match="KeyError: 'who knows'"):
        await run("raise_foreign_error")


async def test_limits_hold_in_every_sandbox(run: Run) -> None:
    with pytest.raises(ConfinedKilled) as caught:
        await run("allocate", LIMITS)
    assert caught.value.details == {"limit": "memory_bytes"}


@pytest.mark.parametrize("sandbox", ["strongest"], indirect=True)
@pytest.mark.parametrize(
    ("task", "limits", "limit"),
    [
        ("loop", ResourceLimits(1, 256 << 20, 1 << 20, wall_s=TIMEOUT_S), "cpu_s"),
        ("sleep", ResourceLimits(9, 256 << 20, 1 << 20, wall_s=0.5), "wall_s"),
        ("raise_own_error_from_memory_error", LIMITS, "memory_bytes"),
        ("fill_disk", LIMITS, "file_bytes"),
        ("open_files", LIMITS, "open_files"),
        ("report_endlessly", LIMITS, "reports"),
        ("one_endless_line", LIMITS, "reports"),
    ],
)
async def test_a_child_over_a_limit_is_ended_and_the_limit_named(
    run: Run, task: str, limits: ResourceLimits, limit: str
) -> None:
    with pytest.raises(ConfinedKilled) as caught:
        await run(task, limits)
    assert caught.value.details == {"limit": limit}
    assert (caught.value.code, caught.value.retryable) == ("decoder_killed", True)


@pytest.mark.parametrize(("task", "name"), [("crash", "SIGSEGV"), ("abort", "SIGABRT")])
async def test_a_crash_is_reported_with_its_signal(run: Run, task: str, name: str) -> None:
    with pytest.raises(ConfinedKilled, match=name):
        await run(task)


@pytest.mark.parametrize(
    "task", ["exit_without_result", "exit_with_zero", "close_everything", "fork_bomb"]
)
async def test_a_child_without_a_result_is_a_failure(run: Run, task: str) -> None:
    with pytest.raises(ConfinedFailed):
        await run(task)


@pytest.mark.parametrize(
    "line",
    [
        "no json",
        "[]",
        "3",
        '{"result": NaN}',
        '{"result": 5}',
        '{"else": 5}',
        '{"error": 5}',
        '{"error": {"module": "os", "name": "system", "message": "x", "details": {}}}',
        "[" * 100_000,
    ],
)
@pytest.mark.parametrize("sandbox", ["strongest"], indirect=True)
# The parent reads the messages of both in the same way.
@pytest.mark.parametrize("carry_out", ["started"], indirect=True)
async def test_forged_messages_of_a_child_are_rejected(line: str, run: Run) -> None:
    with pytest.raises(ConfinedFailed):
        await run("write_forged_messages", line=line)


@pytest.mark.parametrize(
    ("task", "what"),
    [
        ("return_many_values", "contains more than 200000 values"),
        ("return_a_long_number", "contains a number of more than 1000 characters"),
    ],
)
@pytest.mark.parametrize("sandbox", ["strongest"], indirect=True)
async def test_a_result_that_is_costly_to_parse_is_refused(task: str, what: str, run: Run) -> None:
    with pytest.raises(ConfinedFailed, match=what):
        await run(task)


@pytest.mark.parametrize("task", ["leave_a_link", "leave_a_pipe", "leave_deep_folders"])
async def test_links_and_pipes_left_by_a_child_are_removed(
    task: str, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    args = {"secret": str(tmp_path / "secret")}
    with pytest.raises(ConfinedFailed, match=r"not a file: track\.mp4"):
        await run_confined(f"{TASKS}:{task}", args, limits=LIMITS, folder=folder)
    assert not any("track.mp4" in names for _, _, names in os.walk(folder))
    shutil.rmtree(folder)
    assert (tmp_path / "secret").read_text() == "secret"


async def test_a_cancelled_run_leaves_no_process(sandbox: Sandbox, folder: Path) -> None:
    started, others = asyncio.Event(), set(foreign_children())
    order = ConfinedOrder(f"{TASKS}:sleep", {}, LIMITS, folder)
    running = asyncio.create_task(run_in_sandbox(sandbox, order, lambda _: started.set()))
    await started.wait()
    sessions = set(foreign_children()) - others
    assert len(sessions) == 1
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await _until_gone(sessions)


async def test_a_failing_listener_ends_the_run(carry_out: CarryOut, folder: Path) -> None:
    def fail(_report: dict[str, Any]) -> None:
        raise RuntimeError("the listener's own")

    with pytest.raises(RuntimeError, match="the listener's own"):
        await carry_out(ConfinedOrder(f"{TASKS}:sleep", {}, LIMITS, folder), fail)


PARENT = """
import asyncio, sys
from pathlib import Path
from framekiln.kit.confined.sandbox import Isolation, Sandbox
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.run import run_in_sandbox
from framekiln.kit.processes import foreign_children

limits = ResourceLimits(cpu_s=20, memory_bytes=256 << 20, file_bytes=1 << 20, wall_s=600)
order = ConfinedOrder("tests.support.confined_tasks:sleep", {}, limits, Path(sys.argv[2]))
say = lambda report: print(*foreign_children(), flush=True)
asyncio.run(run_in_sandbox(Sandbox(Isolation(sys.argv[1]), ""), order, say))
"""


async def test_when_the_parent_is_killed_the_child_dies_too(sandbox: Sandbox, folder: Path) -> None:
    command = [sys.executable, "-c", PARENT, sandbox.isolation.value, str(folder)]
    parent = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert parent.stdout is not None
    sessions = {int(pid) for pid in (await parent.stdout.readline()).split()}
    assert sessions
    parent.kill()
    await parent.communicate()
    await _until_gone(sessions)


async def test_many_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    async def one(number: int) -> int:
        folder = tmp_path / str(number)
        folder.mkdir()
        answer = await run_confined(
            f"{TASKS}:add", {"numbers": [number]}, limits=LIMITS, folder=folder
        )
        return int(answer["sum"])

    assert await asyncio.gather(*(one(n) for n in range(4))) == list(range(4))


async def test_six_small_files_at_once_are_not_six_children(tmp_path: Path) -> None:
    before, at_a_time = child_budget(), 0
    running: set[int] = set()

    async def one(number: int) -> None:
        nonlocal at_a_time
        folder = tmp_path / str(number)
        folder.mkdir()

        def started(_: dict[str, Any]) -> None:
            nonlocal at_a_time
            running.add(number)
            at_a_time = max(at_a_time, len(running))

        args = {"numbers": [number]}
        await run_confined(f"{TASKS}:add", args, limits=LIMITS, folder=folder, on_report=started)
        running.discard(number)

    set_child_budget(ChildBudget(children=100, memory_bytes=2 * LIMITS.memory_bytes))
    try:
        await asyncio.gather(*(one(n) for n in range(6)))
    finally:
        set_child_budget(before)
    assert 1 <= at_a_time <= 2


def test_confinement_is_described() -> None:
    assert re.search(r"bubblewrap|landlock|limits", describe_confinement())


async def _until_gone(sessions: set[int]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while _alive_in(sessions):
        assert time.monotonic() < deadline, f"still there: {_alive_in(sessions)}"
        await asyncio.sleep(0.02)


def _alive_in(sessions: set[int]) -> list[int]:
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            fields = (process / "stat").read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) in sessions and fields[0] != "Z":
            found.append(int(process.name))
    return found
