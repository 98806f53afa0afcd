"""What can go wrong between us and a page: our browser's fault, or the composition's."""

from framekiln.kit.errors import Blame, CompositionFailed, FramekilnError, Unavailable


class BrowserDied(Unavailable):
    """Chromium ended or was killed; another try gets a fresh one."""

    code = "browser_died"


class BrowserTimeout(FramekilnError):
    """A command got no answer in time; whose fault it is depends on what was asked."""

    code = "browser_timeout"
    retryable = True


class ProtocolError(FramekilnError):
    """Chromium refused a command."""

    code = "browser_protocol_error"


class BrowserMissing(FramekilnError):
    """No usable Chromium on this machine."""

    code = "browser_missing"


class PageNeverSettled(CompositionFailed):
    """The page was still waiting for something when its time was up."""

    code = "page_never_settled"


class PageThrew(CompositionFailed):
    """A script of the page ended in an uncaught error."""

    code = "page_threw"


class PageOutOfStep(CompositionFailed):
    """The page's own runtime says that a frame is there, and shows another."""

    code = "page_out_of_step"


class PageLeft(CompositionFailed):
    """The page went to another document, or loaded itself again."""

    code = "page_left"


class PageBlocked(CompositionFailed):
    """A script of the page does not let go of the main thread."""

    code = "page_blocked"


class PageCrashed(CompositionFailed):
    """The page took its renderer down, most often by using too much memory."""

    code = "page_crashed"
    blame = Blame.CALLER
