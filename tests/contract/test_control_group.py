"""Control groups: the kernel limits all processes of a browser together.

Needs cgroup v2 and a delegated group, such as that of a container with a writable one.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO

import pytest

from framekiln.capture.browser import open_browser
from framekiln.capture.errors import PageOverLimit
from framekiln.capture.network import PageNetwork, Resource, no_resources
from framekiln.capture.page import FrameSize, open_page
from framekiln.cli.doctor_accounts import check_control_groups
from framekiln.kit.account import SERVICE_ID, Account, current_account
from framekiln.kit.control_group import (
    ControlGroup,
    NoControlGroups,
    find_group_folder,
    group_of,
    has_control_groups,
    open_group,
    prepare_groups,
    sweep_groups,
)
from tests.support.timeouts import TIMEOUT_S

MIB = 1 << 20
ALLOCATE = "x = bytearray(256 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('survived')"
FORK_BOMB = """
import os, time
try:
    for made in range(1000):
        if os.fork() == 0:
            time.sleep(600)
except BlockingIOError:
    print(made, flush=True)
    time.sleep(600)
"""
LEAVE_GROUP_BEHIND = """
import subprocess, sys, time
from framekiln.kit.control_group import find_group_folder, open_group
with open_group(find_group_folder(), memory_bytes=64 << 20, tasks=20) as group:
    command = f"echo 0 >{group.entrance}; exec sleep 600"
    child = subprocess.Popen(["/bin/sh", "-c", command])
    while not group.entrance.read_text():
        time.sleep(0.01)
    print(group.folder, child.pid, flush=True)
    sys.stdin.read()
"""
MAKE_AS_USER = """
import subprocess
from framekiln.kit.control_group import find_group_folder, open_group
with open_group(find_group_folder(), memory_bytes=64 << 20, tasks=20) as group:
    command = f"echo 0 >{group.entrance} && cat /proc/self/cgroup"
    print(subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True).stdout)
"""
MEMORY_BOMB = b"""<!doctype html><script>const kept = []; setInterval(() => {
    kept.push(new Uint8Array(16 << 20).fill(1)) }, 1)</script>"""


@pytest.fixture(scope="module")
def parent() -> Path:
    """Where groups can be made; this process moves to a group below it."""
    prepare_groups(current_account())
    try:
        return find_group_folder()
    except NoControlGroups as error:
        pytest.skip(f"no control groups can be made: {error}")


@pytest.fixture
def group(parent: Path) -> Iterator[ControlGroup]:
    with open_group(parent, memory_bytes=64 * MIB, tasks=20) as group:
        yield group


@contextmanager
def running(group: ControlGroup, program: str) -> Iterator["RunningProgram"]:
    """Run Python code in the group."""
    command = f'echo 0 >{group.entrance} && exec "$@"'
    arguments = ["/bin/sh", "-c", command, "sh", sys.executable, "-c", program]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout as output:
        try:
            yield RunningProgram(process, output)
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class RunningProgram:
    process: subprocess.Popen[str]
    output: IO[str]


def test_a_process_that_takes_too_much_memory_is_killed(group: ControlGroup) -> None:
    rest = "import time; print('runs', flush=True); time.sleep(600)"
    with running(group, rest) as beside:
        assert beside.output.readline() == "runs\n"
        with running(group, ALLOCATE) as greedy:
            assert greedy.output.read() == ""
            assert greedy.process.wait(TIMEOUT_S) == -signal.SIGKILL
        # The group is killed as a whole: half a browser is of no use.
        assert beside.process.wait(TIMEOUT_S) == -signal.SIGKILL
    assert group.is_over_memory()
    assert not group.is_over_tasks()


def test_a_fork_bomb_stops_at_the_limit_of_tasks(group: ControlGroup) -> None:
    with running(group, FORK_BOMB) as bomb:
        assert int(bomb.output.readline()) == 19
        assert len(group.entrance.read_text().split()) == 20
    assert group.is_over_tasks()
    assert not group.is_over_memory()


def test_processes_within_their_limits_exceed_none(group: ControlGroup) -> None:
    with running(group, "print(len(bytearray(1 << 20)))") as modest:
        assert modest.output.read() == "1048576\n"
    assert not group.is_over_memory()
    assert not group.is_over_tasks()


def test_a_limit_of_a_group_above_is_no_excess_of_this_one(group: ControlGroup) -> None:
    (group.folder / "cgroup.subtree_control").write_text("+memory +pids")
    with open_group(group.folder, memory_bytes=128 * MIB, tasks=40) as inner:
        with running(inner, FORK_BOMB) as bomb:
            assert int(bomb.output.readline()) == 19
        assert not inner.is_over_tasks()
        with running(inner, ALLOCATE) as greedy:
            assert greedy.output.read() == ""
        assert group.is_over_memory()
        assert not inner.is_over_memory()


def test_at_the_end_its_processes_are_killed_and_the_group_is_removed(parent: Path) -> None:
    with open_group(parent, memory_bytes=64 * MIB, tasks=20) as group:
        with running(group, FORK_BOMB) as bomb:
            bomb.output.readline()
        assert len(group.entrance.read_text().split()) == 19
    assert not group.folder.exists()


def test_groups_of_killed_processes_are_removed_and_those_of_others_stay(
    parent: Path, group: ControlGroup
) -> None:
    command = [sys.executable, "-c", LEAVE_GROUP_BEHIND]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as owner:
        assert owner.stdout is not None
        folder, pid = owner.stdout.readline().split()
        assert sweep_groups(parent) == 0
        owner.kill()
    assert group_of(pid) == Path(folder)
    assert sweep_groups(parent) == 1
    assert not Path(folder).exists()
    assert group.folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="not run by root, who alone can be somebody else")
def test_root_lets_the_account_of_the_service_make_groups(parent: Path) -> None:
    prepare_groups(Account(SERVICE_ID, SERVICE_ID))
    user = ["setpriv", f"--reuid={SERVICE_ID}", f"--regid={SERVICE_ID}", "--clear-groups"]
    command = [*user, sys.executable, "-c", MAKE_AS_USER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert "/framekiln-limited-" in done.stdout, done.stderr
    assert not list(parent.glob("framekiln-limited-*"))


def test_a_browser_over_the_memory_of_its_group_fails_by_name(parent: Path) -> None:
    with pytest.raises(PageOverLimit, match="FRAMEKILN_BROWSER_MEMORY_MIB"):
        show_until_the_kernel_kills(MEMORY_BOMB)
    assert not list(parent.glob("framekiln-limited-*"))


def show_until_the_kernel_kills(html: bytes) -> None:
    with open_browser() as browser, open_page(browser, FrameSize(320, 180)) as page:
        assert browser.group is not None
        members = browser.group.entrance.read_text().split()
        assert len(members) >= len(browser.processes.statuses()) > 1
        page.load(PageNetwork(Resource(html, "text/html"), no_resources), settle_within_s=TIMEOUT_S)
        page.begin(Fraction(10), frame_within_s=TIMEOUT_S)
        # Far below the limit of the watchdog, so that it is the kernel that kills.
        used_bytes = int((browser.group.folder / "memory.current").read_text())
        (browser.group.folder / "memory.max").write_text(str(used_bytes + 100 * MIB))
        for number in range(10_000):
            page.show(number, number * 100_000)


def test_readiness_and_doctor_say_that_there_are_groups(parent: Path) -> None:
    assert has_control_groups()
    assert check_control_groups(os.getpid()).detail == f"each Chromium has one, below {parent}"
