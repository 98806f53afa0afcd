"""Errors of the browser and of pages."""

from framekiln.kit.errors import Blame, CompositionFailed, FramekilnError, Unavailable


class BrowserDied(Unavailable):
    """Chromium exited or was killed; a retry gets a new one."""

    code = "browser_died"


class FrameStalled(BrowserDied):
    """Chromium never finished a frame, although nothing kept it busy; a new page draws it."""

    code = "browser_stalled"


class InvalidScreenshot(Unavailable):
    """Chromium sent something else than a picture of its window; a retry gets a new one."""

    code = "invalid_screenshot"


class BrowserTimeout(FramekilnError):
    """A command got no response in time; the cause depends on the command."""

    code = "browser_timeout"
    retryable = True


class ProtocolError(FramekilnError):
    """Chromium rejected a command."""

    code = "browser_protocol_error"


class BrowserMissing(FramekilnError):
    """There is no usable Chromium on this machine."""

    code = "browser_missing"


class PageNeverSettled(CompositionFailed):
    """The page was still waiting for something at its time limit."""

    code = "page_never_settled"


class PageThrew(CompositionFailed):
    """A script of the page threw an uncaught error."""

    code = "page_threw"


class PageOutOfStep(CompositionFailed):
    """The page's own runtime reported a frame as ready, but shows another."""

    code = "page_out_of_step"


class PageLeft(CompositionFailed):
    """The page navigated to another document, or reloaded."""

    code = "page_left"


class PageBlocked(CompositionFailed):
    """A script of the page blocks the main thread."""

    code = "page_blocked"


class PageCrashed(CompositionFailed):
    """The page crashed its renderer process, most often because of too much memory."""

    code = "page_crashed"
    blame = Blame.CALLER


class PageOverLimit(CompositionFailed):
    """The page used more memory, processes, threads or disk, or sent more, than a browser may."""

    code = "page_over_limit"
