"""Playback of a video, also while it is being rendered.

During the render, segments are made from finished slices on request. The segments of the finished
film are cut once and stored with it. Both have the same bytes and the same URLs.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from framekiln.engine.film_plan import FilmPlan, cut_slices
from framekiln.media.segments.film_segments import (
    audio_bounds,
    audio_header,
    audio_segments,
    video_header,
    video_segments,
)
from framekiln.renders.model import FinishedSlice, Render, render_prefix
from framekiln.renders.service import Renders
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound
from framekiln.storage.keys import TrackedKey
from framekiln.timeline import SOUND_RATE_HZ
from framekiln.videos.errors import HlsSegmentNotFound, NotAFilm
from framekiln.videos.hls.package import HlsPackage
from framekiln.videos.hls.playlists import (
    PICTURE,
    SOUND,
    FilmStreams,
    main_playlist,
    media_playlist,
)
from framekiln.videos.model import Video
from framekiln.videos.service import video_not_ready

T = TypeVar("T")

_OVERHEAD: Final = Fraction(11, 10)


@dataclass(frozen=True)
class _PlayableFilm:
    """The playable part of a film: complete slices from its start."""

    render: Render
    plan: FilmPlan
    frame_counts: tuple[int, ...]
    slices: tuple[FinishedSlice, ...]
    """The playable slices during the render; empty when it has ended."""

    @property
    def is_complete(self) -> bool:
        return self.render.result is not None

    @property
    def fps(self) -> Fraction:
        return self.plan.timeline.fps

    @property
    def count(self) -> int:
        return len(self.frame_counts) if self.is_complete else len(self.slices)

    def durations_s(self, track: str) -> list[Fraction]:
        if track == PICTURE:
            return [count / self.fps for count in self.frame_counts[: self.count]]
        bounds = audio_bounds(self.frame_counts, fps=self.fps, rate_hz=SOUND_RATE_HZ)
        # The audio of a very short last slice may be in the previous segment.
        return [
            Fraction(end - start, SOUND_RATE_HZ)
            for start, end in pairwise(bounds[: self.count + 1])
            if end > start
        ]

    @property
    def sound_source(self) -> str:
        key = self.render.result.output_key if self.render.result else self.render.sound_key
        assert key is not None, "a film is not watched before its sound is there"
        return key


@dataclass(frozen=True)
class HlsStreams:
    """Films as HLS."""

    renders: Renders
    blobs: BlobStore

    async def main_playlist(self, video: Video, *, query: str = "") -> str:
        """Return the main playlist."""
        film = await self._playable(video)
        sound = await self._sound(film)
        if film.is_complete:
            picture = await self._picture(film)
            peak = picture.peak_bits_per_s
            codecs, size = picture.codecs, (picture.width_px, picture.height_px)
        else:
            codecs, size, peak = await self._first_slice(film)
        film_format = FilmStreams(
            picture_codecs=codecs,
            sound_codecs=sound.codecs,
            width_px=size[0],
            height_px=size[1],
            fps=film.fps,
            bits_per_s=round((peak + sound.peak_bits_per_s) * _OVERHEAD),
        )
        return main_playlist(film_format, query=query)

    async def media_playlist(self, video: Video, track: str, *, query: str = "") -> str:
        """Return the list of a track's segments so far."""
        film = await self._playable(video)
        target_s = max(film.frame_counts) / film.fps
        durations_s = film.durations_s(track)
        return media_playlist(
            track, durations_s, target_s=target_s, is_over=film.is_complete, query=query
        )

    async def init(self, video: Video, track: str) -> bytes:
        """Return the header of a track."""
        film = await self._playable(video)
        if track == SOUND:
            return await self._part(film, track, await self._sound(film), None)
        if film.is_complete:
            return await self._part(film, track, await self._picture(film), None)
        return await self._of_slice(film, 0, lambda path: video_header(path, film.fps).init)

    async def segment(self, video: Video, track: str, number: int) -> bytes:
        """Return a segment of a track, counted from 0."""
        film = await self._playable(video)
        if not 0 <= number < len(film.durations_s(track)):
            raise HlsSegmentNotFound(f"video {video.id} has no segment {number}, or not yet")
        if track == SOUND:
            return await self._part(film, track, await self._sound(film), number)
        if film.is_complete:
            return await self._part(film, track, await self._picture(film), number)

        def make(path: Path) -> bytes:
            header = video_header(path, film.fps)
            counts = film.frame_counts[: number + 1]
            segments = video_segments(path, header, counts, fps=film.fps, first_number=number)
            return next(segments).data

        return await self._of_slice(film, number, make)

    async def _playable(self, video: Video) -> _PlayableFilm:
        """Return the playable part, or raise `VideoNotReady`."""
        render = video.render
        if not video.is_streamable:
            raise NotAFilm(
                f"video {video.id} is not an MP4; only MP4 videos can be streamed, so download it"
            )
        if video.is_failed or render.plan is None or (not video.is_ready and not render.sound_key):
            raise video_not_ready(video)
        plan = FilmPlan.from_json(render.plan)
        counts = tuple(
            each.frame_count for each in cut_slices(plan.timeline, render.request.slice_ms)
        )
        if video.is_ready:
            return _PlayableFilm(render, plan, counts, ())
        done = await self.renders.finished_slices(render.id)
        first = tuple(each for place, each in enumerate(done) if each.number == place)
        if not first:
            raise video_not_ready(video)
        return _PlayableFilm(render, plan, counts, first)

    async def _first_slice(self, film: _PlayableFilm) -> tuple[str, tuple[int, int], int]:
        """Return codecs, size and frame rate of the first slice."""

        def look(path: Path) -> tuple[str, tuple[int, int], int]:
            header = video_header(path, film.fps)
            bits_per_s = 8 * path.stat().st_size * film.fps / film.frame_counts[0]
            return header.codecs, (header.width_px, header.height_px), round(bits_per_s)

        return await self._of_file(film.slices[0].blob_key, look)

    async def _picture(self, film: _PlayableFilm) -> HlsPackage:
        assert film.render.result is not None

        def pack(path: Path, out: Path) -> HlsPackage:
            header = video_header(path, film.fps)
            segments = video_segments(path, header, film.frame_counts, fps=film.fps)
            return HlsPackage.write(out, header, segments)

        return await self._package(film, PICTURE, film.render.result.output_key, pack)

    async def _sound(self, film: _PlayableFilm) -> HlsPackage:
        bounds = audio_bounds(film.frame_counts, fps=film.fps, rate_hz=SOUND_RATE_HZ)

        def pack(path: Path, out: Path) -> HlsPackage:
            return HlsPackage.write(out, audio_header(path), audio_segments(path, bounds))

        return await self._package(film, SOUND, film.sound_source, pack)

    async def _package(
        self, film: _PlayableFilm, track: str, source: str, pack: Callable[[Path, Path], HlsPackage]
    ) -> HlsPackage:
        """Return the index of a track; cut and store its segments first if necessary."""
        key = _package_key(film.render, track, source)
        try:
            return HlsPackage.from_json(await self.blobs.get(f"{key}.json"))
        except BlobNotFound:
            pass
        with tempfile.TemporaryDirectory(prefix="framekiln-stream-") as folder:
            path, out = Path(folder) / "film.mp4", Path(folder) / "segments"
            await self.blobs.get_to_read(source, path)
            made = await asyncio.to_thread(pack, path, out)
            await self.blobs.put_file(key, out)
            # The index is stored last, so that its segments always exist.
            await self.blobs.put(TrackedKey(f"{key}.json"), made.to_json())
        return made

    async def _part(
        self, film: _PlayableFilm, track: str, package: HlsPackage, number: int | None
    ) -> bytes:
        span = (0, package.init_bytes) if number is None else package.byte_range(number)
        if span is None:
            raise HlsSegmentNotFound(f"there is no segment {number}")
        source = film.sound_source
        key = _package_key(film.render, track, source)
        return b"".join(
            [chunk async for chunk in self.blobs.stream(key, start=span[0], end=span[1])]
        )

    async def _of_slice(
        self, film: _PlayableFilm, number: int, make: Callable[[Path], bytes]
    ) -> bytes:
        return await self._of_file(film.slices[number].blob_key, make)

    async def _of_file(self, key: str, make: Callable[[Path], T]) -> T:
        with tempfile.TemporaryDirectory(prefix="framekiln-stream-") as folder:
            path = Path(folder) / "slice.mp4"
            await self.blobs.get_to_read(key, path)
            return await asyncio.to_thread(make, path)


def _package_key(render: Render, track: str, source: str) -> TrackedKey:
    """Return the blob key of a track's segments; it differs between attempts."""
    name = source.rsplit("/", 1)[-1].partition(".")[0]
    prefix = render_prefix(render.organization_id, render.id)
    return TrackedKey(f"{prefix}/stream/{track}-{name}")
