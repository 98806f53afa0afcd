"""Checks that a caption file can be read; to be run in a confined child."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from framekiln.media.caption_file import check_captions


def task(args: dict[str, Any], report: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """Read the captions at `source`, or raise `UnreadableCaptions`."""
    check_captions(Path(args["source"]).read_bytes())
    return {}
