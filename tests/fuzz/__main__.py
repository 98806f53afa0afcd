"""`python -m tests.fuzz`: fuzz for a while, all targets or those named.

Each target gets an equal part of the time. A find is made as small as possible and printed with its
traceback; the exit code is then 1. Turn it into an ordinary test beside the code that it concerns.
"""

import argparse
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, settings

from tests.fuzz.targets import FuzzTarget, all_targets

EXAMPLES_A_ROUND = 200


def fuzz(target: FuzzTarget, seconds: float) -> int:
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
    parser.add_argument("names", nargs="*", metavar="target", help=", ".join(targets))
    asked = parser.parse_args()
    unknown = set(asked.names) - targets.keys()
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(targets)}")
    chosen = [targets[name] for name in asked.names] or list(targets.values())
    finds = 0
    for target in chosen:
        try:
            count = fuzz(target, asked.seconds / len(chosen))
        except Exception:
            finds += 1
            sys.stdout.write(f"{target.name}: FIND\n{traceback.format_exc()}\n")
        else:
            sys.stdout.write(f"{target.name}: {count} inputs, no find\n")
        sys.stdout.flush()
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
