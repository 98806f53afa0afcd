"""An ordinary browser tab with real time and real network, like that of a viewer.

It has the user and the limits of any other browser here, but neither bubblewrap nor a filter.
"""

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from framekiln.capture.browser import find_chromium
from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.cdp import CdpConnection
from framekiln.capture.sandbox import Confinement, chromium_environment, confined_command
from framekiln.kit.account import STRANGER_ID
from tests.support.timeouts import TIMEOUT_S

FLAGS = (
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--mute-audio",
    "--autoplay-policy=no-user-gesture-required",
    "--disable-background-networking",
    "--no-proxy-server",
)


class BrowserTab:
    """One page; scripts run in it and return the value of their promise."""

    def __init__(self, connection: CdpConnection, pid: int, context_id: str | None = None) -> None:
        self.pid = pid
        """The first of the browser's processes."""
        self._connection = connection
        place = {} if context_id is None else {"browserContextId": context_id}
        target = self._call("Target.createTarget", {"url": "about:blank", **place}, session=None)
        attached = self._call("Target.attachToTarget", {**target, "flatten": True}, session=None)
        self._session = attached["sessionId"]
        self.said: list[str] = []
        self._connection.listen("Runtime.consoleAPICalled", self._session, self._hear)
        self._call("Runtime.enable", {}, session=self._session)

    def forget(self) -> None:
        """Call no listener any more."""
        self._connection.forget(self._session)

    def open(self, url: str) -> None:
        self._call("Page.navigate", {"url": url}, session=self._session)
        self.run(
            "new Promise((done) => document.readyState === 'complete' ? done() : "
            "addEventListener('load', done))"
        )

    def run(self, script: str) -> Any:
        """Evaluate an expression, wait for its promise and return its value."""
        params = {"expression": script, "awaitPromise": True, "returnByValue": True}
        answer = self._call("Runtime.evaluate", params, session=self._session)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(f"{details.get('exception', details)}; console: {self.said}")
        return answer["result"].get("value")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol for this page."""
        return self._call(method, params, session=self._session)

    def listen(self, event: str, call: Callable[[dict[str, Any]], None]) -> None:
        """Be told of an event of the DevTools protocol of this page."""
        self._connection.listen(event, self._session, call)

    def press(self, key: str, *, shift: bool = False) -> None:
        """Press and release a key, as a user does."""
        code = {" ": "Space"}.get(key, f"Key{key.upper()}" if len(key) == 1 else key)
        pressed = {"key": key, "code": code, "modifiers": 8 if shift else 0}
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **pressed, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def look_like(self, width_px: int, height_px: int, scheme: str) -> None:
        """Have the window of a device, and prefer light or dark pages."""
        size = {"width": width_px, "height": height_px, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def _hear(self, event: dict[str, Any]) -> None:
        self.said.append(" ".join(json.dumps(arg.get("value")) for arg in event["args"]))

    def _call(self, method: str, params: dict[str, Any], *, session: str | None) -> dict[str, Any]:
        return self._connection.call(method, params, session=session, within_s=TIMEOUT_S)


class OrdinaryBrowser:
    """A browser for several people: each tab has cookies and storage of its own."""

    def __init__(self, connection: CdpConnection, pid: int) -> None:
        self._connection = connection
        self._pid = pid

    @contextmanager
    def open_tab(self) -> Iterator[BrowserTab]:
        """Open a tab, and close it when the block ends. A browser takes ten times as long."""
        context = self._call("Target.createBrowserContext")
        tab = BrowserTab(self._connection, self._pid, context["browserContextId"])
        try:
            yield tab
        finally:
            self._call("Target.disposeBrowserContext", **context)
            tab.forget()

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._connection.call(method, params, session=None, within_s=TIMEOUT_S)


@contextmanager
def open_ordinary_browser() -> Iterator[OrdinaryBrowser]:
    """Start a browser with an empty profile, and stop it when the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        profile = Path(folder)
        if os.geteuid() == 0:
            os.chown(profile, STRANGER_ID, STRANGER_ID)
        process, connection = _start(profile)
        try:
            yield OrdinaryBrowser(connection, process.pid)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            connection.close()


@contextmanager
def open_tab() -> Iterator[BrowserTab]:
    """Open the only tab of a new browser."""
    with open_ordinary_browser() as browser, browser.open_tab() as tab:
        yield tab


def _start(profile: Path) -> tuple[subprocess.Popen[bytes], CdpConnection]:
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    place = f'exec 3<&{to_read} 4>&{from_write}; exec "$@"'
    command = confined_command(
        [find_chromium(), *FLAGS],
        Confinement.UNPRIVILEGED_USER,
        profile=profile,
        limits=BrowserLimits(),
        filter_fd=-1,
    )
    process = subprocess.Popen(
        ["/bin/bash", "-c", place, "chromium", *command],
        pass_fds=(to_read, from_write),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env=chromium_environment(profile),
    )
    os.close(to_read)
    os.close(from_write)
    return process, CdpConnection(read_fd=from_read, write_fd=to_write)
