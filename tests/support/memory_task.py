"""Runs another task and reports the peak memory of the process."""

import importlib
import resource
from collections.abc import Callable
from typing import Any


def run_measured(args: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    module, _, name = args["task"].partition(":")
    task = getattr(importlib.import_module(module), name)
    try:
        answer: dict[str, Any] = task(args, report)
        return answer
    finally:
        report({"peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024})
