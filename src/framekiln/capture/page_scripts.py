"""Scripts that are put into pages, and what comes out of pages, in words."""

import json
from functools import cache
from importlib import resources
from typing import Final

from framekiln.capture.cdp import Params

# Fixed, so that a page that shows the date draws the same picture in every run.
EPOCH_MS: Final = 1_735_689_600_000
_SEED: Final = 20_250_101
# What runs goes back by the time that has passed, and what started meanwhile to its start.
REWIND: Final = """(passedMs) => {
  for (const animation of document.getAnimations()) {
    const { currentTime, playbackRate, playState } = animation;
    if (playState === "paused" || typeof currentTime !== "number") continue;
    animation.currentTime = Math.max(0, currentTime - passedMs * playbackRate);
  }
}"""


@cache
def runtime_script(
    *, has_files: bool, defines_elements: bool = True, asks_info: bool = False
) -> str:
    """The runtime with its configuration, as one expression that leaves no names behind."""
    source = resources.files("framekiln.capture").joinpath("runtime.js").read_text("utf-8")
    config = json.dumps(
        {
            "epochMs": EPOCH_MS,
            "seed": _SEED,
            "hasFiles": has_files,
            "definesElements": defines_elements,
            "asksInfo": asks_info,
        }
    )
    return f"(() => {{ const __FRAMEKILN_CONFIG__ = {config};\n{source}\n}})();"


def thrown_message(details: Params) -> str:
    """Say what a script threw, and where."""
    exception = details.get("exception", {})
    thrown = exception.get("description") or json.dumps(exception.get("value"), ensure_ascii=False)
    # A page may throw a text of any length.
    first_lines = " | ".join(line.strip() for line in thrown[:1000].splitlines()[:3])
    line, column = details.get("lineNumber", 0) + 1, details.get("columnNumber", 0) + 1
    return f"a script of the page threw at line {line}, column {column}: {first_lines}"


def console_line(params: Params) -> str:
    """Say what a script wrote to its console."""
    parts = [str(a.get("value", a.get("description", ""))) for a in params.get("args", ())]
    return f"{params.get('type')}: {' '.join(parts)}"[:500]
