"""`python -m tests.fuzz`: fuzz for a while, all targets or those named.

Each target gets an equal part of the time, in a process of its own. A find is made as small as
possible and printed with its traceback; the exit code is then 1. An input that hangs or crashes the
process is printed as it was. Turn a find into an ordinary test beside the code that it concerns,
with the mark `fuzz_find`.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.targets import FuzzTarget, all_targets
from tests.fuzz.watchdog import Watchdog, noted_input

EXAMPLES_A_ROUND = 50


def fuzz(target: FuzzTarget, seconds: float, watchdog: Watchdog) -> int:
    """Run rounds until the time is over; return the number of inputs. A find is raised."""
    count = 0

    @settings(
        max_examples=EXAMPLES_A_ROUND,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def one_round(value: object) -> None:
        nonlocal count
        count += 1
        with watchdog.watch(value):
            target.run(value)

    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s:
        one_round()
    return count


def main() -> int:
    """Fuzz as the command line says."""
    targets = all_targets()
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzz the readers.")
    parser.add_argument("--seconds", type=float, default=60, help="for all targets together")
    parser.add_argument("--note", type=Path, help="fuzz here, and note each input in this file")
    parser.add_argument("names", nargs="*", metavar="target", help=", ".join(targets))
    asked = parser.parse_args()
    unknown = set(asked.names) - targets.keys()
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(targets)}")
    chosen = asked.names or list(targets)
    if asked.note is not None:
        return fuzz_here(targets[chosen[0]], asked.seconds, asked.note)
    return max(fuzz_in_child(name, asked.seconds / len(chosen)) for name in chosen)


def fuzz_here(target: FuzzTarget, seconds: float, note: Path) -> int:
    """Fuzz one target in this process; return the exit code."""
    with note.open("wb") as file:
        try:
            count = fuzz(target, seconds, Watchdog(file))
        except Exception:
            sys.stdout.write(f"{target.name}: FIND\n{traceback.format_exc()}\n")
            return 1
    sys.stdout.write(f"{target.name}: {count} inputs, no find\n")
    return 0


def fuzz_in_child(name: str, seconds: float) -> int:
    """Fuzz one target in a process of its own, which it may hang or crash; return 1 for a find."""
    with tempfile.TemporaryDirectory(prefix="framekiln-fuzz-") as folder:
        note = Path(folder) / "input"
        command = [sys.executable, "-m", "tests.fuzz", name, "--note", str(note)]
        ended = subprocess.run(
            [*command, "--seconds", str(seconds)], stdout=subprocess.PIPE, text=True, check=False
        )
        sys.stdout.write(ended.stdout)
        if ended.returncode and "FIND" not in ended.stdout:
            sys.stdout.write(
                f"{name}: FIND: the process hung or crashed ({ended.returncode}) with the input\n"
                f"{noted_input(note)}\n"
            )
        sys.stdout.flush()
    return 1 if ended.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
