"""The text of a fetched page, in the encoding that Chromium finds.

A BOM decides, then the charset of Content-Type, then `<meta charset>`; without any it is UTF-8.
"""

from typing import Final

from framekiln.capture.browser import Browser
from framekiln.capture.network import MAX_BODY_BYTES, PAGE_URL, PageNetwork, Resource
from framekiln.capture.page import FrameSize, open_page
from framekiln.engine.assets import LocalAsset
from framekiln.engine.film_order import FilmLimits
from framekiln.engine.missing_media import AssetMissing

_ENCODED: Final = f"{PAGE_URL}encoded"
# Chromium reads the document of a request as it reads a page, but runs and loads nothing of it.
_DECODER: Final = f"""<!doctype html><script>
const encodingOf = (url) => new Promise((resolve, reject) => {{
  const request = new XMLHttpRequest();
  request.open("GET", url);
  request.responseType = "document";
  request.overrideMimeType("text/html");
  request.onload = () => resolve(request.response.characterSet);
  request.onerror = reject;
  request.send();
}});
window.renderReady = (async () => {{
  const encoding = await encodingOf("{_ENCODED}");
  const bytes = await (await fetch("{_ENCODED}")).arrayBuffer();
  window.decoded = new TextDecoder(encoding).decode(bytes);
}})();
</script>"""


def page_text(asset: LocalAsset, browser: Browser, limits: FilmLimits) -> str:
    """Return the text of a page."""
    if asset.path.stat().st_size > MAX_BODY_BYTES:
        raise AssetMissing(f"the page has more than {MAX_BODY_BYTES >> 20} MiB")
    encoded = Resource(asset.path.read_bytes(), asset.content_type)
    document = Resource(_DECODER.encode(), "text/html; charset=utf-8")
    network = PageNetwork(document, lambda url: encoded if url == _ENCODED else None)
    with open_page(browser, FrameSize(2, 2)) as page:
        page.load(network, settle_within_s=limits.settle_s)
        return str(page.evaluate("decoded"))
