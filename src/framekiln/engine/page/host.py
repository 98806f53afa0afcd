"""The host side of the page contract: answers the requests of a page.

Media facts, decoded video frames, captions and sound samples are requested below `/__framekiln/`;
everything else is an asset by URL. The page side is `runtime/src/host.ts`.
"""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from itertools import chain, islice
from types import TracebackType
from typing import Final, Self
from urllib.parse import parse_qs, unquote, urlsplit

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageNeverSettled
from framekiln.capture.framebuffer import PageBuffers
from framekiln.capture.network import (
    PAGE_URL,
    PageNetwork,
    Resource,
    file_resource,
)
from framekiln.composition.document import Document
from framekiln.engine.assets import FILE_ID, TRANSCRIPTION_OF, Assets, LocalAsset
from framekiln.engine.errors import FilmTookTooLong
from framekiln.engine.missing_media import (
    lost_transparency_warning,
    missing_source_error,
    unusable_source_warning,
)
from framekiln.engine.page.animated_images import AnimatedImages
from framekiln.engine.page.queries import (
    GRACE_MS,
    Query,
    json_answer,
    milliseconds,
    problem_answer,
    shown_at_header,
    source_address,
    tailwind_script,
    whole_number,
)
from framekiln.engine.page_api import (
    API_PREFIX,
    FILES_PATH,
    PageApi,
    PageServiceBackend,
    is_required_source,
    md5_of,
)
from framekiln.engine.page_sources import probe_played
from framekiln.engine.site import Site
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.errors import FramekilnError, InvalidInput, RemoteFailed
from framekiln.media.audio.source_samples import SourceSamples
from framekiln.media.captions import caption_bytes, read_captions
from framekiln.media.frame_slots import Pixels
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.session_audio import SessionAudio
from framekiln.media.source_session import SessionFrames, SourceSession

PREFIX: Final = "/__framekiln/"
_READING: Final = ("frame", "peaks")
_MAX_FRAME_PX: Final = 8192
_MAX_SAMPLES: Final = 1 << 20
_MAX_INDEX: Final = 10**9 - 1
# Browsers inspect the bytes if the server does not name their type.
_RASTERS: Final = tuple(f"image/{kind}" for kind in ("png", "apng", "jpeg", "webp", "gif", "avif"))
_MAY_BE_PICTURES: Final = ("image/", "application/octet-stream", "binary/octet-stream")
_MAX_WARNINGS: Final = 20
_ERROR_STATUS: Final = 400
# An external runtime may use another host for its service, with credentials.
_CREDENTIALS: Final = (
    ("Access-Control-Allow-Origin", PAGE_URL.rstrip("/")),
    ("Access-Control-Allow-Credentials", "true"),
    ("Access-Control-Allow-Headers", "Authorization, Content-Type, Range"),
)


FindFrame = Callable[[str, Fraction, tuple[int, int]], tuple[Fraction, Pixels] | None]
"""Returns the frame of an address at a source time, in a size, and when it begins, if it has it."""


class PageHost:
    """Answers one page, in the page's thread. A context manager, which closes all decoders.

    `service` is for pages with an external runtime. After `within_s` no request is answered,
    because a page may request one slow source after another.
    """

    def __init__(
        self,
        assets: Assets,
        browser: Browser,
        site: Site | None = None,
        *,
        service: PageServiceBackend | None = None,
        within_s: float = float("inf"),
    ) -> None:
        self._assets = assets
        self._within_s = within_s
        self._deadline = time.monotonic() + within_s
        self._site = site
        self._buffers = PageBuffers(browser.pid)
        self._fetched: dict[str, LocalAsset] = {}
        self._facts: dict[str, ProbedSource] = {}
        self._session = SourceSession()
        self._frames: dict[tuple[str, int, int], SessionFrames] = {}
        self._find_decoded: FindFrame | None = None
        self._sounds: dict[str, SourceSamples] = {}
        self._pictures = AnimatedImages(self._session)
        self.fetch_errors: dict[str, FramekilnError] = {}
        """The error of each source that could not be fetched or used."""
        by_address: dict[str, Callable[[str], Resource]] = {
            "assets/image": self._file,
            "assets/captions": lambda url: self._captions({"src": url}),
            "files/md5": lambda url: json_answer({"md5": md5_of(self._fetch(url))}),
        }
        self._api = PageApi(service, self._fetch_played, by_address) if service else None
        self._needed: dict[str, FramekilnError] = {}
        self._made_opaque: list[str] = []
        self.rasters: set[str] = set()
        """The addresses of pictures that are made of pixels, as far as they were asked for."""
        self._answers: dict[str, Callable[[Query], Resource]] = {
            "media": self._media,
            "frame": self._frame,
            "captions": self._captions,
            "transcription": self._transcription,
            "peaks": self._peaks,
            "sound": self._sound,
            "animations": lambda query: json_answer(self._pictures.describe(query.get("src"))),
            "picture": self._picture,
            "tailwind.js": lambda _query: tailwind_script(),
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._session.close()
        for sound in self._sounds.values():
            sound.close()
        self._pictures.close()

    @property
    def has_moving_pictures(self) -> bool:
        """Whether the page was served an animated image."""
        return self._pictures.has_any

    def lookup(self, url: str) -> Resource | None:
        """Answer one request of the page; None refuses it."""
        if time.monotonic() > self._deadline:
            raise FilmTookTooLong(
                f"not finished after {self._within_s:g} s; the page then asked for {url[:200]}"
            )
        parts = urlsplit(url)
        if parts.path.startswith(PREFIX):
            return self._answer(parts.path.removeprefix(PREFIX), parts.query)
        found = self._find(url)
        if found is not None and found.content_type.startswith(_MAY_BE_PICTURES):
            self._pictures.add(url, found.body)
            if found.content_type.startswith(_RASTERS):
                self.rasters.add(url)
        return found

    def _find(self, url: str) -> Resource | None:
        parts = urlsplit(url)
        if self._api is not None and parts.path.startswith(API_PREFIX):
            return self._answer_api(self._api, url)
        if parts.path.startswith(FILES_PATH):
            # Only images are requested this way: all other media comes frame by frame.
            return self._file(FILE_ID + unquote(parts.path.removeprefix(FILES_PATH)))
        if self._site is not None and url.startswith(PAGE_URL):
            return self._site.find(parts.path)
        return self._remote_resource(url) if parts.scheme == "https" else None

    def open_planes(self, address: str, size: tuple[int, int]) -> SessionFrames:
        """Open the frames of a video that is shown without the page, as planes of an even size."""
        path = self._fetch(address).path
        return self._session.open_planes(path, size=size, name=address)

    @contextmanager
    def reuse_frames(self, find: FindFrame) -> Iterator[None]:
        """Take pictures of videos that are decoded already from there, in the block."""
        self._find_decoded = find
        try:
            yield
        finally:
            self._find_decoded = None

    def network(self, document: Document) -> PageNetwork:
        """Return the network of a page with that document."""
        served = Resource(document.text.encode(), "text/html; charset=utf-8")
        return PageNetwork(served, self.lookup, document.author_position)

    def refusal(self, url: str) -> str:
        """Return why a request was refused, and what to do."""
        parts = urlsplit(url)
        if url.startswith(PAGE_URL) and self._site is not None:
            path = unquote(parts.path)[:200]
            if self._site.find(parts.path) is not None:
                return "pages inside the page are not loaded; put its contents into the page"
            return f"the bundle has no file {path}; add it, or correct the address"
        if url.startswith(PAGE_URL):
            return (
                "inline HTML has no files beside it; write an https address, or send the page and"
                " its files as a bundle"
            )
        if parts.scheme != "https":
            return "only https addresses are fetched"
        return "pages inside the page are not loaded"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about missing sources that fail no element, such as backgrounds."""
        return self.warnings_except(())

    def warnings_except(self, known: Collection[str]) -> tuple[str, ...]:
        """Return the warnings without those about known addresses."""
        others = ((url, error) for url, error in self.fetch_errors.items() if url not in known)
        missing = (unusable_source_warning(url, error) for url, error in others)
        opaque = map(lost_transparency_warning, self._made_opaque)
        return tuple(islice(chain(missing, opaque), _MAX_WARNINGS))

    @contextmanager
    def raise_missing_sources(self) -> Iterator[None]:
        """Raise for a missing source that the page requests, or waits for, in the block."""
        try:
            yield
        except PageNeverSettled:
            self.check_sources()
            raise
        self.check_sources()

    def check_sources(self) -> None:
        """Raise if an external runtime requested a source that is missing.

        Such runtimes continue without it, and the film would silently be wrong.
        """
        for url, error in self._needed.items():
            raise missing_source_error(url, error)

    def _answer(self, what: str, query: str) -> Resource | None:
        answer = self._answers.get(what)
        if answer is None:
            return None
        asked = {name: values[0] for name, values in parse_qs(query).items()}
        try:
            return answer(asked)
        except FramekilnError as error:
            if what in _READING and isinstance(error, RemoteFailed | ConfinedKilled):
                # The source was usable when the film began, so the page is not at fault.
                raise missing_source_error(source_address(asked), error) from error
            return problem_answer(error)
        except KeyError as missing:
            return problem_answer(InvalidInput(f"{what} needs {missing}"))

    def _answer_api(self, api: PageApi, url: str) -> Resource:
        parts = urlsplit(url)
        path = unquote(parts.path.removeprefix(API_PREFIX))
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        try:
            answer = api.answer(path, query)
        except FramekilnError as error:
            if is_required_source(path, error):
                self._needed[query.get("url") or query.get("src") or parts.path] = error
            # A failed fetch is already recorded under the address of its source.
            if all(error is not known for known in self.fetch_errors.values()):
                self.fetch_errors[url] = error
            answer = problem_answer(error)
        else:
            self.fetch_errors.pop(url, None)
            self._needed.pop(query.get("url") or query.get("src") or parts.path, None)
        return replace(answer, headers=(*answer.headers, *_CREDENTIALS))

    def _remote_resource(self, url: str) -> Resource | None:
        """Answer as the remote server did; None if it could not be reached: a `fetch` rejects."""
        try:
            asset = self._fetch(url)
        except FramekilnError as error:
            status = error.details.get("status", 0)
            return Resource(b"", "text/plain", status=status) if status >= _ERROR_STATUS else None
        return file_resource(asset.path, asset.content_type)

    def _file(self, address: str) -> Resource:
        try:
            asset = self._fetch(address)
        except FramekilnError as error:
            return problem_answer(error)
        return file_resource(asset.path, asset.content_type)

    def _media(self, query: Query) -> Resource:
        found = self._probe(source_address(query))
        duration_s = found.duration_s
        return json_answer(
            {
                "durationMs": None if duration_s is None else float(duration_s * 1000),
                "widthPx": found.width_px,
                "heightPx": found.height_px,
                "hasVideo": found.width_px is not None,
                "hasAudio": found.has_sound,
            }
        )

    def _frame(self, query: Query) -> Resource:
        url = source_address(query)
        width = whole_number(query, "width", most=_MAX_FRAME_PX)
        height = whole_number(query, "height", most=_MAX_FRAME_PX)
        at_ms = milliseconds(query) + GRACE_MS
        decoded = self._find_decoded and self._find_decoded(url, at_ms, (width, height))
        if decoded is not None:
            return self._pixels(query, decoded[1], headers=(shown_at_header(decoded[0]),))
        source = self._frames.get((url, width, height))
        if source is None:
            found, path = self._probe(url), self._fetch(url).path
            source = self._session.open_frames(found.kind, path, size=(width, height), name=url)
            self._frames[url, width, height] = source
        shown = shown_at_header(source.shown_ms(at_ms))
        return self._pixels(query, source.rgba_at(at_ms), headers=(shown,))

    def _picture(self, query: Query) -> Resource:
        number, frame = (
            whole_number(query, name, least=0, most=_MAX_INDEX) for name in ("id", "number")
        )
        return self._pixels(query, self._pictures.rgba(number, frame))

    def _pixels(
        self, query: Query, pixels: Pixels, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> Resource:
        if self._buffers.write(query.get("buffer"), pixels):
            return Resource(b"", "application/octet-stream", status=204, headers=headers)
        return Resource(pixels.tobytes(), "application/octet-stream", headers=headers)

    def _captions(self, query: Query) -> Resource:
        data = caption_bytes(self._fetch(source_address(query)).path)
        if data.lstrip()[:1] in (b"{", b"["):
            return Resource(data, "application/json")
        return json_answer(read_captions(data).as_json())

    def _transcription(self, query: Query) -> Resource:
        spoken = self._fetch(TRANSCRIPTION_OF + query["fileId"])
        return Resource(spoken.path.read_bytes(), "application/json")

    def _peaks(self, query: Query) -> Resource:
        url = source_address(query)
        window = whole_number(query, "window", most=_MAX_SAMPLES)
        if not self._probe(url).has_sound:
            return Resource(bytes(4 * window), "application/octet-stream")
        samples = self._samples_of(url).before(milliseconds(query), window)
        return Resource(samples.astype("<f4").tobytes(), "application/octet-stream")

    def _sound(self, query: Query) -> Resource:
        """Return interleaved samples, for scripts that process the sound of an element."""
        first = whole_number(query, "first", least=0, most=_MAX_INDEX)
        end = first + whole_number(query, "count", most=_MAX_SAMPLES)
        samples = self._samples_of(source_address(query)).between(first, end)
        return Resource(samples.T.astype("<f4").tobytes(), "application/octet-stream")

    def _samples_of(self, url: str) -> SourceSamples:
        if url not in self._sounds:
            path, read = self._fetch(url).path, SessionAudio(self._session).read
            self._sounds[url] = SourceSamples(path, read)
        return self._sounds[url]

    def _probe(self, url: str) -> ProbedSource:
        if url not in self._facts:
            path = self._fetch(url).path
            try:
                self._facts[url] = probe_played(self._session, path, name=url)
            except FramekilnError as error:
                self.fetch_errors[url] = error
                raise
        return self._facts[url]

    def _fetch_played(self, url: str) -> LocalAsset:
        """Return a source that an external runtime plays; record if it loses transparency."""
        if self._probe(url).has_alpha and url not in self._made_opaque:
            self._made_opaque.append(url)
        return self._fetch(url)

    def _fetch(self, url: str) -> LocalAsset:
        # A page may request a source repeatedly; the remote server is asked once.
        if url in self.fetch_errors:
            raise self.fetch_errors[url]
        if url not in self._fetched:
            try:
                self._fetched[url] = self._assets.fetch(url)
            except FramekilnError as error:
                self.fetch_errors[url] = error
                raise
        return self._fetched[url]
