"""Queries of a page's requests, which its scripts may have written, and answers to them."""

import json
import re
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, Final

from framekiln.capture.network import Resource
from framekiln.engine.assets import FILE_ID
from framekiln.kit.errors import FramekilnError, InvalidInput


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


Query = dict[str, str]

GRACE_MS: Final = Fraction(1, 2)
"""Page times have five decimals, and source times are often whole milliseconds: a picture that is
due within half a millisecond counts as due.
"""

_SHORT_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,12}(\.[0-9]{1,9})?")


def source_address(query: Query) -> str:
    """Return the address of the source that a query names."""
    return query["src"] if "src" in query else FILE_ID + query["fileId"]


def whole_number(query: Query, name: str, *, least: int = 1, most: int) -> int:
    """Read a number within bounds."""
    text = query[name]
    number = int(text) if _SHORT_NUMBER.fullmatch(text) else -1
    if not least <= number <= most:
        raise InvalidInput(f"{name} is {least} to {most}, not {text[:20]!r}")
    return number


def milliseconds(query: Query) -> Fraction:
    """Read the time of a query."""
    text = query["ms"]
    # A large exponent would make the fraction huge.
    if _DECIMAL.fullmatch(text) is None:
        raise InvalidInput(f"ms is a plain decimal number, not {text[:20]!r}")
    return Fraction(text)
