"""The studio in an ordinary browser: find things as people do, by their texts and labels."""

import base64
import json
import time
from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from tests.support.browser_tab import BrowserTab
from tests.support.libraries import FOLDER
from tests.support.tab_walk import keyboard_problems
from tests.support.timeouts import TIMEOUT_S, growing_pauses

AXE = FOLDER / "axe-core" / "axe.min.js"

Windows = Sequence[tuple[int, bool]]
"""Widths, and whether pages are dark; the last is wide, so that Tab reaches the menu."""
TWO_WINDOWS: Windows = ((390, True), (1440, False))
FOUR_WINDOWS: Windows = ((390, False), (1440, True), *TWO_WINDOWS)

# Finds elements by what people see; editors are in shadow roots.
FINDERS = """
window.__find = (kind, text) => {
  const all = [...document.querySelectorAll(kind)].filter((each) => each.offsetParent !== null);
  return all.find((each) => each.textContent.trim() === text)
      ?? all.find((each) => each.textContent.includes(text));
};
window.__labelled = (text) => {
  const label = [...document.querySelectorAll("label")].find((each) =>
    each.textContent.trim().startsWith(text));
  return label?.control ?? document.querySelector(`[aria-label="${text}"]`);
};
"""


class StudioTab:
    """One page of the studio."""

    def __init__(self, tab: BrowserTab, url: str) -> None:
        self.tab = tab
        self.url = url
        self.errors: list[str] = []
        self._has_replaced = False
        tab.listen("Runtime.exceptionThrown", lambda event: self.errors.append(json.dumps(event)))
        tab.listen("Log.entryAdded", self._hear)
        tab.call("Log.enable")
        tab.call("Page.enable")
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=FINDERS)

    def open(self, path: str) -> None:
        """Load a page."""
        self._has_replaced = False
        self.tab.open(path if path.startswith("http") else self.url + path)

    def go(self, path: str) -> None:
        """Go to another page of the studio as its links do: the document stays."""
        if self.run("location.pathname") == path:
            return
        # Only what the next page draws has no mark.
        self.run("document.querySelector('main h1').dataset.isOld = ''")
        going = f"history.pushState(null, '', {json.dumps(path)})"
        self.run(f"{going}, dispatchEvent(new PopStateEvent('popstate'))")
        self.wait("!!document.querySelector('main h1:not([data-is-old])')")

    def run(self, script: str) -> Any:
        return self.tab.run(script)

    def wait(self, condition: str) -> Any:
        """Wait until an expression is true, and return its value."""
        return self.poll(lambda: self.run(condition), condition)

    def poll(self, ask: Callable[[], Any], message: str) -> Any:
        deadline = time.monotonic() + TIMEOUT_S
        pauses = growing_pauses()
        while not (found := ask()):
            if time.monotonic() > deadline:
                text = self.run("document.body.innerText")
                raise AssertionError(f"{message}; {self.errors}; the page says:\n{text}")
            time.sleep(next(pauses))
        return found

    def wait_text(self, text: str) -> None:
        self.wait(f"document.body.innerText.includes({json.dumps(text)})")

    def click(self, text: str, kind: str = "button, a, summary") -> None:
        """Click what has this text, when it is there."""
        found = f"__find({json.dumps(kind)}, {json.dumps(text)})"
        self.wait(f"!!{found} && !{found}.disabled")
        self.run(f"{found}.click()")

    def fill(self, label: str, text: str) -> None:
        """Type into the field with this label."""
        found = f"__labelled({json.dumps(label)})"
        self.wait(f"!!{found}")
        self.run(
            f"(() => {{ const field = {found}; field.focus(); field.value = {json.dumps(text)};"
            " field.dispatchEvent(new Event('input', {bubbles: true}));"
            " field.dispatchEvent(new Event('change', {bubbles: true})); })()"
        )

    def choose(self, label: str, value: str) -> None:
        """Choose an option of the list with this label."""
        self.fill(label, value)

    def press(self, key: str, **options: Any) -> None:
        """Press a key where the focus is."""
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.tab.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, **text, **options)

    def drag(self, start: str, end: str) -> None:
        """Drag the mouse from the middle of an element to that of another."""
        middles = (
            f"[{start}, {end}].map((each) => each.getBoundingClientRect())"
            ".map(({x, y, width, height}) => [x + width / 2, y + height / 2])"
        )
        self.run(f"{start}.scrollIntoView({{block: 'center'}})")
        first, last = self.run(middles)
        for kind, (x, y) in (
            ("mousePressed", first),
            ("mouseMoved", last),
            ("mouseReleased", last),
        ):
            self.tab.call(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    def write(self, text: str) -> None:
        """Replace the text of the page's editor."""
        content = "document.querySelector('.editor')?.shadowRoot?.querySelector('.cm-content')"
        self.wait(f"!!{content}")
        self.run(f"{content}.focus()")
        self.tab.call("Input.dispatchKeyEvent", type="keyDown", commands=["selectAll"])
        # Chromium wants to give the text the style of what it replaces; the policy refuses that.
        self._has_replaced = True
        self.tab.call("Input.insertText", text=text)

    def show_as(self, *, width: int = 1440, height: int = 900, is_dark: bool = False) -> None:
        """Have a window of this size, and prefer light or dark pages."""
        self.tab.look_like(width, height, "dark" if is_dark else "light")

    def look(self, *, corner_px: int | None = None) -> Image.Image:
        """Return a screenshot of the window, or of its upper left corner."""
        size = {"x": 0, "y": 0, "width": corner_px, "height": corner_px, "scale": 1}
        options = {} if corner_px is None else {"clip": size}
        data = self.tab.call("Page.captureScreenshot", format="png", **options)["data"]
        return Image.open(BytesIO(base64.b64decode(data))).convert("RGB")

    def accessibility_problems(self) -> list[str]:
        """Return what axe finds that is serious."""
        if not self.run("!!window.axe"):
            self.run(AXE.read_text("utf-8") + "; true")
        options = "{resultTypes: ['violations']}"
        found = self.run(f"axe.run({options}).then(({{violations}}) => violations)")
        return [
            f"{each['id']}: {each['help']} {each['nodes'][0]['html'][:200]}"
            for each in found
            if each["impact"] in ("serious", "critical")
        ]

    def _hear(self, event: dict[str, Any]) -> None:
        entry = event["entry"]
        # Browsers log each response of the API that is an error, although the page shows it.
        is_refusal = "the server responded with a status of 4" in entry["text"]
        is_style = self._has_replaced and "Applying inline style" in entry["text"]
        if entry["level"] == "error" and not is_refusal and not is_style:
            self.errors.append(f"{entry['text']} {entry.get('url', '')}")


def check_page(studio: StudioTab, windows: Windows = TWO_WINDOWS) -> None:
    """What is shown fits in wide and narrow windows, axe finds nothing serious, Tab reaches all.

    Styles of light and dark pages differ in colours only, and those of narrow windows in none. So
    two windows show everything, except for the menu: narrow ones have a button for it.
    """
    # The page of a preview opens its composition first, and has nothing to reach until then.
    studio.wait("!!document.querySelector('main') && !document.querySelector('main.loading')")
    for width, is_dark in windows:
        studio.show_as(width=width, is_dark=is_dark)
        # It is never covered by a film.
        brightness = np.asarray(studio.look(corner_px=4)).mean()
        assert brightness < 90 if is_dark else brightness > 160
        assert studio.run("document.documentElement.scrollWidth <= innerWidth"), width
        problems = studio.accessibility_problems()
        assert problems == [], (width, is_dark, problems)
    studio.wait("[...document.querySelectorAll('.editor')].every((each) => each.shadowRoot)")
    problems = keyboard_problems(studio)
    assert problems == [], problems
