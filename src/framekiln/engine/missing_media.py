"""Errors and warnings about missing sources: which element misses which source, and why."""

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
from framekiln.kit.warning_text import WarningText

FetchErrors = Mapping[str, FramekilnError]
"""The error of each URL that could not be fetched."""

_SHOWN_URL_CHARACTERS: Final = 200
# Messages of the page's runtime shorten addresses to this many characters.
_QUOTED_URL_CHARACTERS: Final = 77
# Images with an `onerror` are left to the page.
_BROKEN_IMAGES: Final = """__framekiln.images()
  .filter((image) => image.complete && image.naturalWidth === 0 && image.onerror === null)
  .map((image) => ({
    url: image.currentSrc || image.src,
    written: image.getAttribute("src") || image.currentSrc,
    element: image.id === ""
      ? `img ${__framekiln.images().indexOf(image) + 1} of ${__framekiln.images().length}`
      : `img#${image.id}`,
  }))
  .filter(({ written }) => written !== "")
  .slice(0, 1)"""


class AssetMissing(CompositionFailed):
    """A source of the composition does not exist or cannot be used."""

    code = "asset_missing"


class AssetUnavailable(RemoteFailed):
    """A source could not be fetched now; a retry may succeed."""

    code = "asset_unavailable"


def check_images(page: Page, reasons: FetchErrors, site: Site | None = None) -> None:
    """Raise if an <img> of the loaded page is broken; `site` has the files beside the page."""
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
    """Return the error for a source that an external runtime could not get."""
    return _missing(f"{address[:_SHOWN_URL_CHARACTERS]} cannot be played: {reason.message}", reason)


def missing_source_of(thrown: PageThrew, reasons: FetchErrors) -> FramekilnError | None:
    """Return the error for a missing source, if that is what the page's error is about."""
    for url, reason in reasons.items():
        if _address_in_messages(url) in thrown.message:
            is_included = reason.message in thrown.message
            message = thrown.message if is_included else f"{thrown.message}: {reason.message}"
            return _missing(message, reason)
    return None


def _address_in_messages(address: str) -> str:
    """Return an address as messages of the page's runtime write it."""
    named = address.removeprefix(FILE_ID).removeprefix(TRANSCRIPTION_OF)
    return named[:_QUOTED_URL_CHARACTERS]


def _missing(message: str, reason: FramekilnError) -> FramekilnError:
    if isinstance(reason, CompositionFailed | SourceChanged):
        return type(reason)(message)
    return AssetUnavailable(message) if reason.retryable else AssetMissing(message)


def unusable_source_warning(url: str, error: FramekilnError) -> str:
    """Return the warning about a source that fails no element, such as a background."""
    shown = url[:_SHOWN_URL_CHARACTERS]
    return WarningText("source_unusable", f"{shown} could not be used: {error.message}")


def lost_transparency_warning(url: str) -> str:
    """Return the warning about a transparent video in an external runtime."""
    return WarningText(
        "transparency_lost",
        f"{url[:_SHOWN_URL_CHARACTERS]} is transparent, but a page that brings its own runtime gets"
        " it as H.264, with black behind: play it with the built-in elements, which keep"
        " transparency",
    )
