"""How a command that fails says so."""

import os


def was_interrupted(error: BaseException) -> bool:
    """Return whether Ctrl-C or a signal led to an error: what it cuts short may fail in any way."""
    found: BaseException | None = error
    while found is not None and not isinstance(found, KeyboardInterrupt):
        found = found.__context__
    return found is not None


def wants_traceback() -> bool:
    """Whether tracebacks are shown."""
    return os.environ.get("FRAMEKILN_DEBUG", "0") not in ("", "0")
