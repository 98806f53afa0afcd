"""A run as a tree of its steps: each below the last of those it needs. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from rich.text import Text
from rich.tree import Tree

from framekiln.client.model import RemoteRun, RemoteStep

_STYLES: Final = {
    "running": "cyan",
    "waiting_external": "magenta",
    "waiting_review": "magenta",
    "succeeded": "green",
    "failed": "red",
    "filtered": "yellow",
    "skipped": "yellow",
    "cancelled": "yellow",
}
_OTHER_STYLE: Final = "dim"


def draw_run(run: RemoteRun, needs: Mapping[str, Sequence[str]], now: datetime) -> Tree:
    """Return the tree; a step that needs several others lists those it is not below."""
    root = Tree(Text.assemble(f"run {run.id}  ", (run.status, _style(run.status))))
    branches: dict[str, Tree] = {}
    for step in run.steps:
        above = [key for key in branches if key in needs.get(step.key, ())]
        parent = branches[above[-1]] if above else root
        branches[step.key] = parent.add(describe_step(step, above[:-1], now))
    return root


def describe_step(step: RemoteStep, also_needs: Sequence[str], now: datetime) -> Text:
    """Return one line: the step, its status, its attempts and its duration."""
    line = Text.assemble(
        f"{step.key} ", (f"{step.type}  ", "dim"), (step.status, _style(step.status))
    )
    if step.attempt > 1:
        line.append(f"  attempt {step.attempt}")
    if (duration := duration_of(step, now)) is not None:
        line.append(f"  {duration}", "dim")
    if also_needs:
        line.append(f"  also after {', '.join(also_needs)}", "dim")
    if step.error is not None and step.status != "succeeded":
        message = " ".join(step.error["message"].split())
        line.append(f"  {step.error['code']}: {message}", "red")
    return line


def duration_of(step: RemoteStep, now: datetime) -> str | None:
    """Return the duration of a step so far, as text."""
    if step.started_at is None or (step.completed_at is None and step.status == "ready"):
        return None
    ended = datetime.fromisoformat(step.completed_at) if step.completed_at else now
    # The clock of the service may be ahead of ours.
    tenths = max(0, int((ended - datetime.fromisoformat(step.started_at)).total_seconds() * 10))
    minutes, rest = divmod(tenths, 600)
    seconds = f"{rest // 10}.{rest % 10} s"
    return f"{minutes} min {seconds}" if minutes else seconds


def _style(status: str) -> str:
    return _STYLES.get(status, _OTHER_STYLE)
