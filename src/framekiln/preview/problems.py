"""Errors of a composition for the page: the message, and the file and line to look at. Pure."""

import re
from typing import Final

from framekiln.capture.network import PAGE_URL
from framekiln.kit.errors import FramekilnError
from framekiln.preview.model import PreviewProblem

_LINE: Final = re.compile(r"\bline ([0-9]{1,7})(?:, column [0-9]+)?(?: of ([^\s:,;]+))?")
_INTERNAL: Final = "this is an error of Framekiln, not of the composition; the terminal has more"


def problem_of(error: BaseException, page: str) -> PreviewProblem:
    """Return what the page shows; `page` is the file that errors without a file concern."""
    if not isinstance(error, FramekilnError):
        return PreviewProblem("internal_error", f"{type(error).__name__}: {_INTERNAL}")
    message = error.message.replace(PAGE_URL, "")
    file, line = error.details.get("file"), error.details.get("line")
    if line is None and (place := _LINE.search(message)):
        line, file = int(place[1]), place[2]
    named = (file or page).strip("/") if line is not None else file
    return PreviewProblem(error.code, message, named, line, error.warnings)
