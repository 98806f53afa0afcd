"""Scripts that are injected into pages, and messages for the errors of pages."""

import json
from functools import cache
from importlib import resources
from itertools import islice, takewhile
from typing import Final

from framekiln.capture.cdp import Params
from framekiln.capture.network import PAGE_URL, AuthorPosition, as_served

# Fixed, so that a page that shows the date draws the same image in every run.
EPOCH_MS: Final = 1_735_689_600_000
_SEED: Final = 20_250_101
RUNTIME_URL: Final = "framekiln-runtime.js"
"""The name of our runtime in stack traces."""
_MAX_CHARACTERS: Final = 1000
_MAX_URL_CHARS: Final = 200
_STACK_LINE: Final = "    at "


@cache
def runtime_script(
    *, has_files: bool, defines_elements: bool = True, asks_info: bool = False
) -> str:
    """The runtime with its configuration, as one expression that defines no globals."""
    source = _read("runtime.js")
    config = json.dumps(
        {
            "epochMs": EPOCH_MS,
            "seed": _SEED,
            "hasFiles": has_files,
            "definesElements": defines_elements,
            "asksInfo": asks_info,
        }
    )
    return (
        f"(() => {{ const __FRAMEKILN_CONFIG__ = {config};\n{source}\n}})();"
        f"\n//# sourceURL={RUNTIME_URL}"
    )


@cache
def worker_script() -> str:
    """The script that runs in each worker before its own."""
    return f"{_read('worker_runtime.js')}\n//# sourceURL={RUNTIME_URL}"


def data_script(data: str) -> str:
    """The script that defines a page's render data, which is JSON, under both of its names."""
    # Not as a literal: `__proto__` would not be an ordinary key in it.
    return f"window.RENDER_DATA = window.EF_RENDER_DATA = JSON.parse({json.dumps(data)});"


def is_rejection(details: Params) -> bool:
    """Whether an exception is an unhandled promise rejection."""
    return str(details.get("text", "")).startswith("Uncaught (in promise)")


def thrown_message(details: Params, author_position: AuthorPosition = as_served) -> str:
    """Return what a script threw, and where in the author's text."""
    place, thrown = _place(details, author_position), _thrown(details)
    return f"a script of the page threw{place}: {thrown}"


def rejection_message(details: Params, author_position: AuthorPosition = as_served) -> str:
    """Return why a promise was rejected, and where in the author's text."""
    place, thrown = _place(details, author_position), _thrown(details)
    return f"a promise of the page was rejected{place}, and nothing caught it: {thrown}"


def console_text(params: Params) -> str:
    """Return what a script wrote to its console, on one line."""
    parts = [str(a.get("value", a.get("description", ""))) for a in params.get("args", ())]
    return _without_stack(" ".join(parts))[:500]


def _read(name: str) -> str:
    return resources.files("framekiln.capture").joinpath(name).read_text("utf-8")


def _thrown(details: Params) -> str:
    exception = details.get("exception", {})
    thrown = exception.get("description") or json.dumps(exception.get("value"), ensure_ascii=False)
    return _without_stack(thrown)


def _without_stack(text: str) -> str:
    # A page may throw a text of any length.
    lines = text[:_MAX_CHARACTERS].splitlines()
    first_words = takewhile(lambda line: not line.startswith(_STACK_LINE), lines)
    return " | ".join(line.strip() for line in islice(first_words, 3))


def _place(details: Params, author_position: AuthorPosition) -> str:
    """Return the position in scripts that are not ours, as text; "" if only in ours."""
    frames = details.get("stackTrace", {}).get("callFrames", ())
    for frame in (details, *frames):
        url = str(frame.get("url", ""))
        if url == RUNTIME_URL:
            continue
        line, column = frame.get("lineNumber", 0), frame.get("columnNumber", 0)
        script = ""
        if url.partition("?")[0] == PAGE_URL:
            line, column = author_position(line, column)
        elif url:
            shown = url.removeprefix(PAGE_URL.rstrip("/")) if url.startswith(PAGE_URL) else url
            script = f" of {shown[:_MAX_URL_CHARS]}"
        return f" at line {line + 1}, column {column + 1}{script}"
    return ""
