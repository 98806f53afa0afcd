"""The documents of html and lottie layers. Pure, except for the player, read from its file."""

import json
import re
from functools import cache
from html import escape
from importlib import resources
from typing import Any, Final

from framekiln.composition.document import Document, as_document
from framekiln.composition.layers.values import HtmlPage
from framekiln.kit.errors import CompositionFailed

# Places where markup may be inserted into a document, in order of preference.
_PLACES: Final = (
    re.compile(r"<head(\s[^>]*)?>", re.IGNORECASE),
    re.compile(r"<html(\s[^>]*)?>", re.IGNORECASE),
    re.compile(r"<!doctype[^>]*>", re.IGNORECASE),
)


class PlayerMissing(CompositionFailed):
    """This installation was built without the player of vector animations."""

    code = "lottie_unavailable"


def html_document(page: HtmlPage, fetched: str | None, *, head: str = "") -> Document:
    """Return the page of an html layer; `fetched` is the content of its url."""
    switch = "on" if page.with_tailwind else "off"
    inside = f'<meta name="framekiln-tailwind" content="{switch}">'
    if fetched is not None and page.url is not None:
        inside += f'<base href="{escape(page.url, quote=True)}">'
    if page.body is None:
        return _with_head(as_document(fetched or page.document or ""), inside)
    styles = (page.styles or "").replace("</", "<\\/")
    margins = "html, body { margin: 0; }"
    start = (
        f'<!doctype html><html><head><meta charset="utf-8">{inside}<style>{head}{margins}</style>'
        f"<style>{styles}</style></head><body>"
    )
    # This part also contains the author's styles, but these cannot raise errors.
    return Document(f"{start}{page.body}</body></html>", ((0, len(start)),))


def isolate_script(selector: str) -> str:
    """Return the script that isolates one element of a page, at the upper left corner."""
    return f"""(() => {{
  const selector = {json.dumps(selector)};
  const one = document.querySelector(selector);
  if (one === null) throw new Error(`nothing matches html.selector ${{selector}}`);
  const style = document.createElement("style");
  style.textContent = "[data-framekiln-only] {{ visibility: visible !important; }}"
    + ":is(html, body):not([data-framekiln-only]) {{ background: none !important; }}"
    + ":not([data-framekiln-only], [data-framekiln-only] *) {{ visibility: hidden !important; }}";
  one.setAttribute("data-framekiln-only", "");
  document.head.append(style);
  const {{ left, top }} = one.getBoundingClientRect();
  document.documentElement.style.translate = `${{-left}}px ${{-top}}px`;
}})()"""


def lottie_document(animation: dict[str, Any]) -> Document:
    """Return a page that shows an animation; `framekilnSeek(ms)` seeks to a time."""
    data = json.dumps(animation).replace("<", "\\u003c")
    return Document(
        '<!doctype html><html><head><meta charset="utf-8">'
        '<meta name="framekiln-tailwind" content="off"><style>html, body, #stage'
        "{ margin: 0; width: 100%; height: 100%; overflow: hidden; }</style></head>"
        f'<body><div id="stage"></div><script>{_player()}</script>'
        f'<script type="application/json" id="animation">{data}</script>'
        f"<script>{_PLAY}</script></body></html>"
    )


_PLAY: Final = """
const animationData = JSON.parse(document.getElementById("animation").textContent);
const player = lottie.loadAnimation({
  container: document.getElementById("stage"), renderer: "svg", loop: false, autoplay: false,
  animationData, rendererSettings: { preserveAspectRatio: "none" },
});
window.framekilnSeek = (ms) => player.goToAndStop(ms * animationData.fr / 1000, true);
"""


@cache
def _player() -> str:
    file = resources.files("framekiln.capture").joinpath("lottie.js")
    if not file.is_file():
        raise PlayerMissing("the player of Lottie animations is not installed; build runtime/")
    return file.read_text("utf-8").replace("</script", "<\\/script")


def _with_head(document: Document, inside: str) -> Document:
    text = document.text
    # No tag ends after this. Every tag that does not end would be searched for its end.
    end = text.rfind(">") + 1
    for place in _PLACES:
        if found := place.search(text, 0, end):
            return document.with_inserted(inside, found.end())
    return document.with_inserted(inside, 0)
