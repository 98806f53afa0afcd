"""The host side of the page contract: answers what a page asks for while it is filmed.

Media facts, decoded video frames, captions and sound samples are asked for under `/__framekiln/`;
everything else is an asset by URL. The page side is `runtime/src/host.ts`.
"""

import json
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import resources
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from framekiln.capture.browser import Browser
from framekiln.capture.network import PAGE_URL, Resource
from framekiln.capture.page_buffers import PageBuffers
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.site import Site
from framekiln.kit.errors import CompositionFailed, FramekilnError, InvalidInput
from framekiln.media.captions import read_captions
from framekiln.media.frames import FrameSource
from framekiln.media.mono_samples import MonoSamples
from framekiln.media.probe import MediaFacts, probe

Query = dict[str, str]

PREFIX: Final = "/__framekiln/"
_LARGEST_FRAME_PX: Final = 8192
# Page times have five decimals and source times are often whole milliseconds: a picture that is
# due within half of one is meant.
_GRACE_MS: Final = Fraction(1, 2)


class AssetMissing(CompositionFailed):
    """A source that the composition names cannot be had."""

    code = "asset_missing"


class PageHost:
    """Owned by the page's thread; `with` it, so that decoders are closed."""

    def __init__(self, assets: Assets, browser: Browser, site: Site | None = None) -> None:
        self._assets = assets
        self._site = site
        self._buffers = PageBuffers(browser.pid)
        self._fetched: dict[str, LocalAsset] = {}
        self._facts: dict[str, MediaFacts] = {}
        self._frames: dict[tuple[str, int, int], FrameSource] = {}
        self._sounds: dict[str, MonoSamples] = {}
        self.warnings: list[str] = []
        self._failure: FramekilnError | None = None
        self._answers: dict[str, Callable[[Query], Resource]] = {
            "media": self._media,
            "frame": self._frame,
            "captions": self._captions,
            "peaks": self._peaks,
            "tailwind.js": lambda _query: _tailwind(),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for pictures in self._frames.values():
            pictures.close()
        for sound in self._sounds.values():
            sound.close()

    def lookup(self, url: str) -> Resource | None:
        """Answer one request of the page; None refuses it."""
        parts = urlsplit(url)
        if parts.path.startswith(PREFIX):
            return self._answer(parts.path.removeprefix(PREFIX), parts.query)
        if self._site is not None and url.startswith(PAGE_URL):
            return self._site.find(parts.path)
        if parts.scheme != "https":
            return None
        try:
            asset = self._fetch(url)
        except FramekilnError as error:
            self._note(url, error)
            return _problem(error)
        return Resource(asset.path.read_bytes(), asset.content_type)

    def raise_failure(self) -> None:
        """Raise if the page asked for something it cannot do without."""
        if self._failure is not None:
            raise self._failure

    def _answer(self, what: str, query: str) -> Resource | None:
        answer = self._answers.get(what)
        if answer is None:
            return None
        try:
            return answer({name: values[0] for name, values in parse_qs(query).items()})
        except FramekilnError as error:
            return _problem(error)

    def _media(self, query: Query) -> Resource:
        facts = self._probe(_source(query))
        video, audio = facts.video, facts.audio
        return _json(
            {
                "durationMs": float(facts.duration_ms),
                "widthPx": video.width_px if video else None,
                "heightPx": video.height_px if video else None,
                "hasVideo": video is not None,
                "hasAudio": audio is not None,
            }
        )

    def _frame(self, query: Query) -> Resource:
        url = _source(query)
        width, height = _side(query, "width"), _side(query, "height")
        source = self._frames.get((url, width, height))
        if source is None:
            source = FrameSource(self._fetch(url).path, width_px=width, height_px=height)
            self._frames[url, width, height] = source
        pixels = source.rgba_at(Fraction(query["ms"]) + _GRACE_MS)
        if self._buffers.write(query.get("buffer"), pixels):
            return Resource(b"", "application/octet-stream", status=204)
        return Resource(pixels.tobytes(), "application/octet-stream")

    def _captions(self, query: Query) -> Resource:
        data = self._fetch(_source(query)).path.read_bytes()
        if data.lstrip()[:1] in (b"{", b"["):
            return Resource(data, "application/json")
        return _json(read_captions(data).as_json())

    def _peaks(self, query: Query) -> Resource:
        url = _source(query)
        if self._probe(url).audio is None:
            return Resource(bytes(4 * int(query["window"])), "application/octet-stream")
        if url not in self._sounds:
            self._sounds[url] = MonoSamples(self._fetch(url).path)
        samples = self._sounds[url].before(Fraction(query["ms"]), int(query["window"]))
        return Resource(samples.astype("<f4").tobytes(), "application/octet-stream")

    def _probe(self, url: str) -> MediaFacts:
        if url not in self._facts:
            self._facts[url] = probe(self._fetch(url).path)
        return self._facts[url]

    def _fetch(self, url: str) -> LocalAsset:
        if url not in self._fetched:
            self._fetched[url] = self._assets.fetch(url)
        return self._fetched[url]

    def _note(self, url: str, error: FramekilnError) -> None:
        self.warnings.append(f"{url[:200]} could not be fetched: {error.message}")


def _source(query: Query) -> str:
    url = query.get("src")
    if url is None:
        raise InvalidInput("only sources by URL can be used in a composition so far")
    return url


def _side(query: Query, name: str) -> int:
    side = int(query[name])
    if not 1 <= side <= _LARGEST_FRAME_PX:
        raise InvalidInput(f"a video cannot be drawn {side} pixels wide or high")
    return side


@cache
def _tailwind() -> Resource:
    script = resources.files("framekiln.capture").joinpath("tailwind.js").read_bytes()
    return Resource(script, "text/javascript")


def _json(value: dict[str, Any]) -> Resource:
    return Resource(json.dumps(value).encode(), "application/json")


def _problem(error: FramekilnError) -> Resource:
    body = json.dumps({"error": error.code, "message": error.message}).encode()
    return Resource(body, "application/json", status=404)
