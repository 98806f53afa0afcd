"""The processor time of a measured program."""

import subprocess
import sys
from pathlib import Path

import pytest

# A process of its own measures: it ends everything that it finds below itself.
MEASURE = """
import sys
from pathlib import Path
from tests.bench.peers.process import ProgramFailed, run_measured
try:
    used = run_measured(sys.argv[2:], cwd=Path(sys.argv[1]), timeout_s=600)
except ProgramFailed as error:
    print(error)
else:
    print(used.cpu_s)
"""
# The child computes. Its parent ignores SIGCHLD, so nobody waits for it.
NOBODY_WAITS = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    while time.process_time() < 0.5:
        pass
    os._exit(0)
try:
    os.wait()
except ChildProcessError:
    pass
"""


def measured(folder: Path, *command: str) -> str:
    arguments = [sys.executable, "-c", MEASURE, str(folder), *command]
    root = Path(__file__).parents[3]
    answer = subprocess.run(arguments, cwd=root, check=True, capture_output=True, text=True)
    if "cannot be measured" in answer.stdout:
        pytest.skip(answer.stdout.strip())
    return answer.stdout


def test_children_that_nobody_waits_for_are_counted(tmp_path: Path) -> None:
    assert float(measured(tmp_path, sys.executable, "-c", NOBODY_WAITS)) >= 0.5


def test_a_failed_program_says_how_it_ended(tmp_path: Path) -> None:
    assert "status 3: gone" in measured(tmp_path, "/bin/sh", "-c", "echo gone; exit 3")
