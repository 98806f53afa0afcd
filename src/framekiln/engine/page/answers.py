"""Answers to the requests of a page."""

import json
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from framekiln.capture.network import Resource
from framekiln.kit.errors import FramekilnError


def shown_at_header(ms: Fraction) -> tuple[str, str]:
    """Say when in its source a picture begins."""
    return ("X-Picture-Ms", f"{float(ms):.6f}")


@cache
def tailwind_script() -> Resource:
    """Return the script that makes styles of Tailwind classes."""
    script = resources.files("framekiln.capture").joinpath("tailwind.js").read_bytes()
    return Resource(script, "text/javascript")


def json_answer(value: dict[str, Any]) -> Resource:
    """Answer with an object."""
    return Resource(json.dumps(value).encode(), "application/json")


def problem_answer(error: FramekilnError) -> Resource:
    """Answer that something is missing or cannot be used, and why."""
    body = json.dumps({"error": error.code, "message": error.message}).encode()
    return Resource(body, "application/json", status=404)
