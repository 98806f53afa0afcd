"""One Chromium process: started in the sandbox, controlled over a pipe, reliably killed.

No other module starts Chromium. A browser is owned by one thread. If it uses more than its limits,
it is killed, and `name_cause` turns the errors that follow into the one that says why.

`WarmBrowser` keeps running between pages of one owner, and is replaced when unhealthy. Its thread
must outlive the browser, because the sandbox dies with it.
"""

import fcntl
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Hashable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.cdp import CdpConnection
from framekiln.capture.errors import BrowserDied, BrowserMissing
from framekiln.capture.process_tree import ProcessTree, lower_priority
from framekiln.capture.sandbox import (
    Confinement,
    chromium_environment,
    confined_command,
    open_filter,
    strongest_confinement,
)
from framekiln.capture.watchdog import Watchdog
from framekiln.kit.account import STRANGER_ID
from framekiln.kit.control_group import (
    ControlGroup,
    NoControlGroups,
    find_group_folder,
    open_group,
)
from framekiln.kit.errors import FramekilnError

# We control time (begin-frame control), the software compositor provides the pixels, and nothing
# that Chromium does on its own (updates, throttling, image animation) may affect a page.
_FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",
    "--enable-begin-frame-control",
    "--run-all-compositor-stages-before-draw",
    "--disable-new-content-rendering-timeout",
    "--disable-threaded-animation",
    "--disable-threaded-scrolling",
    "--disable-checker-imaging",
    "--disable-image-animation-resync",
    # Where only a part of a tile is drawn anew, edges keep traces of earlier frames: a slice that
    # begins in the middle would differ from a film in one piece.
    "--disable-partial-raster",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--mute-audio",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-default-browser-check",
    "--no-first-run",
    "--lang=en-US",
    # Connections that the debugging protocol does not intercept (WebSocket, WebRTC, preconnect)
    # must fail even without a network namespace: they go to a proxy that cannot be resolved.
    "--proxy-server=http://nowhere.invalid",
    "--proxy-bypass-list=<-loopback>",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
_PROGRAMS: Final = ("chromium-headless-shell", "chrome-headless-shell")
_SWIFTSHADER: Final = ("--disable-gpu", "--enable-unsafe-swiftshader")
# Pages themselves are still composed in memory, where their pixels are read.
_LLVMPIPE: Final = (
    "--use-gl=angle",
    "--use-angle=gl-egl",
    "--disable-gpu-compositing",
    "--disable-gpu-rasterization",
    "--ignore-gpu-blocklist",
)
_START_WITHIN_S: Final = 30.0
# Any number after those of the debugging pipe.
_FILTER_FD: Final = 9
_HELPER_TYPES: Final = ("gpu-process", "utility", "zygote")


class Browser:
    """A running Chromium and its connection."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        connection: CdpConnection,
        *,
        confinement: Confinement,
        limits: BrowserLimits,
        profile: Path,
        group: ControlGroup | None,
    ) -> None:
        self.connection = connection
        self.confinement = confinement
        self.limits = limits
        self.group = group
        """Its control group, where the machine allows one."""
        self.is_slow = False
        """Whether it has a low priority. Use it for no further page."""
        self._process = process
        self.version = str(
            connection.call("Browser.getVersion", session=None, within_s=_START_WITHIN_S)["product"]
        )
        has_namespace = confinement is not Confinement.UNPRIVILEGED_USER
        self.processes = ProcessTree(process.pid, has_namespace=has_namespace)
        self._watchdog = Watchdog(
            self.processes,
            limits,
            profile=None if has_namespace else profile,
            group=group,
            kill=self._kill,
            slow_down=self.slow_down,
        )

    @property
    def pid(self) -> int:
        """The leader of Chromium's process group."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def slow_down(self) -> None:
        """Give it a low priority, for good: a page that blocks it must not slow down others."""
        if not self.is_slow:
            self.is_slow = True
            lower_priority(self.pid)

    def helper_processes(self) -> frozenset[int]:
        """Return its running processes that serve all pages; a page suffers if one is killed.

        Their ids are those of its own namespace, if it has one.
        """
        return self.processes.of_types(_HELPER_TYPES)

    @contextmanager
    def name_cause(self) -> Iterator[None]:
        """Replace any error of the block by the limit that was exceeded, if one was."""
        try:
            yield
        except FramekilnError as error:
            if (exceeded := self._watchdog.exceeded) is not None:
                raise exceeded from error
            raise

    def close(self) -> None:
        """Kill every process of this browser, whatever its state."""
        self._watchdog.stop()
        self._kill()
        self._process.wait()
        self.connection.close()

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


@contextmanager
def open_browser(
    *, confinement: Confinement | None = None, limits: BrowserLimits | None = None
) -> Iterator[Browser]:
    """Start Chromium, and kill it when the block ends."""
    confinement = confinement or strongest_confinement()
    limits = limits or BrowserLimits()
    with ExitStack() as stack:
        # Owned by the user that runs Chromium: as root without bubblewrap, that is another user.
        folder = tempfile.TemporaryDirectory(prefix="framekiln-", ignore_cleanup_errors=True)
        profile = Path(stack.enter_context(folder))
        if confinement is Confinement.UNPRIVILEGED_USER and os.geteuid() == 0:
            os.chown(profile, STRANGER_ID, STRANGER_ID)
        group = _enter_group(stack, limits)
        process, connection = _start(confinement, limits, profile, group)
        try:
            browser = Browser(
                process,
                connection,
                confinement=confinement,
                limits=limits,
                profile=profile,
                group=group,
            )
        except BaseException:
            _end_failed_start(process, connection)
            raise
        try:
            with browser.name_cause():
                yield browser
        finally:
            browser.close()


def find_chromium() -> str:
    """Return the path of the Chromium to use."""
    for name in _PROGRAMS:
        if path := shutil.which(name):
            return path
    raise BrowserMissing(
        "chromium-headless-shell is not installed; on Debian:"
        " apt-get install chromium-headless-shell"
    )


def _enter_group(stack: ExitStack, limits: BrowserLimits) -> ControlGroup | None:
    """Make a control group until the stack is closed; None where that is not possible."""
    try:
        parent = find_group_folder()
        group = open_group(parent, memory_bytes=limits.group_bytes, tasks=limits.group_tasks)
        return stack.enter_context(group)
    except NoControlGroups:
        # The watchdog and the limits of each process remain.
        return None


def _start(
    confinement: Confinement, limits: BrowserLimits, profile: Path, group: ControlGroup | None
) -> tuple[subprocess.Popen[bytes], CdpConnection]:
    """Start Chromium with the debugging pipe on descriptors 3 and 4, as it needs it."""
    with ExitStack() as kept, ExitStack() as ours:
        to_browser_read, to_browser_write = _open_pipe(reader=ours, writer=kept)
        from_browser_read, from_browser_write = _open_pipe(reader=kept, writer=ours)
        filter_fd = ours.enter_context(open_filter())
        passed = [_high(fd, ours) for fd in (to_browser_read, from_browser_write, filter_fd)]
        command = confined_command(
            [find_chromium(), *_FLAGS, *(_LLVMPIPE if limits.has_mesa else _SWIFTSHADER)],
            confinement,
            profile=profile,
            limits=limits,
            filter_fd=_FILTER_FD,
        )
        # The shell only places the descriptors and then becomes the command, so that no Python code
        # runs between fork and exec (unsafe with other threads). If memory runs out, the kernel
        # ends Chromium before anything else.
        place = "exec 3<&{}- 4>&{}- {}<&{}-".format(*passed[:2], _FILTER_FD, passed[2])
        place += "; echo 1000 >/proc/self/oom_score_adj"
        if limits.has_mesa:
            # Never a graphics card: its pixels would be others.
            place += "; export LIBGL_ALWAYS_SOFTWARE=1"
        if group is not None:
            place += f"; echo 0 >{shlex.quote(str(group.entrance))} || exit"
        place += '; exec "$@"'
        try:
            process = subprocess.Popen(
                ["/bin/bash", "-c", place, "chromium", *command],
                pass_fds=passed,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd="/",
                env=chromium_environment(profile),
            )
        except OSError as error:
            raise BrowserDied(f"Chromium could not be started: {error}") from error
        kept.pop_all()
    return process, CdpConnection(read_fd=from_browser_read, write_fd=to_browser_write)


def _open_pipe(*, reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    """Open a pipe whose ends are closed with these stacks."""
    readable, writable = os.pipe()
    reader.callback(os.close, readable)
    writer.callback(os.close, writable)
    return readable, writable


def _high(descriptor: int, stack: ExitStack) -> int:
    """Return a copy with a number that does not collide with those that Chromium needs."""
    copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _FILTER_FD + 1)
    stack.callback(os.close, copy)
    return copy


def _end_failed_start(process: subprocess.Popen[bytes], connection: CdpConnection) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    connection.close()


# Chromium grows a little with every page; a restart takes about a tenth of a second.
_PAGES_PER_BROWSER: Final = 100


class WarmBrowser:
    """Provides its browser to one user at a time, and never one browser to two owners."""

    def __init__(self, limits: BrowserLimits | None = None) -> None:
        self._limits = limits
        self._open = ExitStack()
        self._browser: Browser | None = None
        self._owner: Hashable = None
        self._pages_left = 0

    def start(self) -> None:
        """Start a browser that has no owner yet, unless one is running."""
        if self._browser is None or not self._browser.is_alive:
            self.close()
            self._browser = self._open.enter_context(open_browser(limits=self._limits))
            self._pages_left = _PAGES_PER_BROWSER

    @contextmanager
    def use(self, owner: Hashable) -> Iterator[Browser]:
        """Provide a healthy browser that has shown pages of this owner only.

        Any error closes it.
        """
        is_slow = self._browser is not None and self._browser.is_slow
        if self._owner not in (None, owner) or self._pages_left <= 0 or is_slow:
            self.close()
        self.start()
        assert self._browser is not None
        self._owner = owner
        self._pages_left -= 1
        try:
            with self._browser.name_cause():
                yield self._browser
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the browser, if there is one."""
        self._browser = self._owner = None
        self._open.close()
