"""Sources that a composition names and cannot have: which element misses what, and why."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from framekiln.capture.errors import PageThrew
from framekiln.capture.network import PAGE_URL
from framekiln.capture.page import Page
from framekiln.engine.assets import FILE_ID, TRANSCRIPTION_OF
from framekiln.engine.site import Site
from framekiln.kit.content_version import SourceChanged
from framekiln.kit.errors import CompositionFailed, FramekilnError, RemoteFailed

FetchErrors = Mapping[str, FramekilnError]
"""The error of each URL that could not be fetched."""

_SHOWN_URL_CHARACTERS: Final = 200
# The page's own messages shorten an address to this many characters.
_QUOTED_URL_CHARACTERS: Final = 77
# A page that listens for the error of an image deals with it itself.
_BROKEN_IMAGES: Final = """[...document.images]
  .filter((image) => image.complete && image.naturalWidth === 0 && image.onerror === null)
  .map((image) => ({
    url: image.currentSrc || image.src,
    written: image.getAttribute("src") || image.currentSrc,
    element: image.id === ""
      ? `img ${[...document.images].indexOf(image) + 1} of ${document.images.length}`
      : `img#${image.id}`,
  }))
  .filter(({ written }) => written !== "")
  .slice(0, 1)"""


class AssetMissing(CompositionFailed):
    """A source that the composition names cannot be had."""

    code = "asset_missing"


class AssetUnavailable(RemoteFailed):
    """A source could not be had this time; its server may do better later."""

    code = "asset_unavailable"


def check_images(page: Page, reasons: FetchErrors, site: Site | None = None) -> None:
    """Raise if an <img> of the loaded page has no picture; `site` has the files beside it."""
    for broken in page.evaluate(_BROKEN_IMAGES):
        url = str(broken["url"])
        shown = f'{broken["element"]}: src="{broken["written"][:_SHOWN_URL_CHARACTERS]}"'
        reason = reasons.get(url)
        if reason is not None:
            raise _missing(f"{shown} could not be fetched: {reason.message}", reason)
        if site is not None and url.startswith(PAGE_URL) and site.find(urlsplit(url).path) is None:
            raise AssetMissing(f"{shown} is not there: {site.name} has no such file")
        if url.startswith(("https:", "data:", "blob:", *([PAGE_URL] if site else []))):
            raise AssetMissing(f"{shown} is not a picture that can be shown")
        raise AssetMissing(
            f"{shown} cannot be reached: write an https address, or put the file into a bundle"
        )


def missing_source_error(address: str, reason: FramekilnError) -> FramekilnError:
    """Return the error for a source that a page's own runtime asked for in vain."""
    return _missing(f"{address[:_SHOWN_URL_CHARACTERS]} cannot be played: {reason.message}", reason)


def missing_source_of(thrown: PageThrew, reasons: FetchErrors) -> FramekilnError | None:
    """Return which source a page's complaint is about, if it is about one that failed."""
    for url, reason in reasons.items():
        if _as_quoted(url) in thrown.message:
            is_told = reason.message in thrown.message
            message = thrown.message if is_told else f"{thrown.message}: {reason.message}"
            return _missing(message, reason)
    return None


def _as_quoted(address: str) -> str:
    """Return an address as the page's own messages write it."""
    named = address.removeprefix(FILE_ID).removeprefix(TRANSCRIPTION_OF)
    return named[:_QUOTED_URL_CHARACTERS]


def _missing(message: str, reason: FramekilnError) -> FramekilnError:
    if isinstance(reason, CompositionFailed | SourceChanged):
        return type(reason)(message)
    return AssetUnavailable(message) if reason.retryable else AssetMissing(message)
