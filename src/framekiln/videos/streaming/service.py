"""Watching a video, also while it is being made.

While slices come in, their segments are made of them as they are asked for; the film's own are
cut once, when it is done, and kept beside it. Both are the same bytes under the same addresses.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Final, TypeVar

from framekiln.engine.slices import cut
from framekiln.kit.errors import NotFound
from framekiln.media.segmenting.film_segments import (
    picture_header,
    picture_segments,
    sound_bounds,
    sound_header,
    sound_segments,
)
from framekiln.renders.model import Render, render_prefix
from framekiln.renders.plan import RenderPlan
from framekiln.renders.service import Renders
from framekiln.renders.slices.store import DoneSlice
from framekiln.storage.blob_store import BlobStore
from framekiln.storage.errors import BlobNotFound
from framekiln.timeline import SOUND_RATE_HZ
from framekiln.videos.model import NotAFilm, Video
from framekiln.videos.service import not_ready
from framekiln.videos.streaming.package import Package
from framekiln.videos.streaming.playlists import (
    PICTURE,
    SOUND,
    Variant,
    track_playlist,
    variant_playlist,
)

T = TypeVar("T")

_OVERHEAD: Final = Fraction(11, 10)


class SegmentNotFound(NotFound):
    """The film has no such segment, or not yet."""

    code = "segment_not_found"


@dataclass(frozen=True)
class _Watched:
    """A film as far as it can be watched: whole slices from its start."""

    render: Render
    plan: RenderPlan
    frame_counts: tuple[int, ...]
    slices: tuple[DoneSlice, ...]
    """Those that can be watched while it is made; empty when it is over."""

    @property
    def is_over(self) -> bool:
        return self.render.made is not None

    @property
    def fps(self) -> Fraction:
        return self.plan.timeline.fps

    @property
    def count(self) -> int:
        return len(self.frame_counts) if self.is_over else len(self.slices)

    def durations_s(self, track: str) -> list[Fraction]:
        if track == PICTURE:
            return [count / self.fps for count in self.frame_counts[: self.count]]
        bounds = sound_bounds(self.frame_counts, fps=self.fps, rate_hz=SOUND_RATE_HZ)
        # A last slice of a moment may have its sound in the segment before it.
        return [
            Fraction(end - start, SOUND_RATE_HZ)
            for start, end in pairwise(bounds[: self.count + 1])
            if end > start
        ]

    @property
    def sound_source(self) -> str:
        key = self.render.made.output_key if self.render.made else self.render.sound_key
        assert key is not None, "a film is not watched before its sound is there"
        return key


@dataclass(frozen=True)
class Streams:
    """Films as HLS."""

    renders: Renders
    blobs: BlobStore

    async def playlist(self, video: Video, *, query: str = "") -> str:
        """Return the playlist that players begin with."""
        film = await self._watched(video)
        sound = await self._sound(film)
        if film.is_over:
            picture = await self._picture(film)
            peak = picture.peak_bits_per_s
            codecs, size = picture.codecs, (picture.width_px, picture.height_px)
        else:
            codecs, size, peak = await self._first_slice(film)
        variant = Variant(
            picture_codecs=codecs,
            sound_codecs=sound.codecs,
            width_px=size[0],
            height_px=size[1],
            fps=film.fps,
            bits_per_s=round((peak + sound.peak_bits_per_s) * _OVERHEAD),
        )
        return variant_playlist(variant, query=query)

    async def track(self, video: Video, track: str, *, query: str = "") -> str:
        """Return the list of a track's segments so far."""
        film = await self._watched(video)
        target_s = max(film.frame_counts) / film.fps
        durations_s = film.durations_s(track)
        return track_playlist(
            track, durations_s, target_s=target_s, is_over=film.is_over, query=query
        )

    async def init(self, video: Video, track: str) -> bytes:
        """Return the header of a track."""
        film = await self._watched(video)
        if track == SOUND:
            return await self._part(film, track, await self._sound(film), None)
        if film.is_over:
            return await self._part(film, track, await self._picture(film), None)
        return await self._of_slice(film, 0, lambda path: picture_header(path, film.fps).init)

    async def segment(self, video: Video, track: str, number: int) -> bytes:
        """Return a segment of a track, from 0."""
        film = await self._watched(video)
        if not 0 <= number < len(film.durations_s(track)):
            raise SegmentNotFound(f"video {video.id} has no segment {number}, or not yet")
        if track == SOUND:
            return await self._part(film, track, await self._sound(film), number)
        if film.is_over:
            return await self._part(film, track, await self._picture(film), number)

        def make(path: Path) -> bytes:
            header = picture_header(path, film.fps)
            counts = film.frame_counts[: number + 1]
            segments = picture_segments(path, header, counts, fps=film.fps, first_number=number)
            return next(segments).data

        return await self._of_slice(film, number, make)

    async def _watched(self, video: Video) -> _Watched:
        """Return what can be watched, or raise `VideoNotReady`."""
        render = video.render
        if not video.is_streamable:
            raise NotAFilm(f"video {video.id} is no MP4, which alone is streamed: download it")
        if video.is_failed or render.plan is None or (not video.is_ready and not render.sound_key):
            raise not_ready(video)
        plan = RenderPlan.from_json(render.plan)
        counts = tuple(each.frame_count for each in cut(plan.timeline, render.slice_ms))
        if video.is_ready:
            return _Watched(render, plan, counts, ())
        done = await self.renders.slices(render.id)
        first = tuple(each for place, each in enumerate(done) if each.number == place)
        if not first:
            raise not_ready(video)
        return _Watched(render, plan, counts, first)

    async def _first_slice(self, film: _Watched) -> tuple[str, tuple[int, int], int]:
        """Return codecs, size and rate of the first slice."""

        def look(path: Path) -> tuple[str, tuple[int, int], int]:
            header = picture_header(path, film.fps)
            bits_per_s = 8 * path.stat().st_size * film.fps / film.frame_counts[0]
            return header.codecs, (header.width_px, header.height_px), round(bits_per_s)

        return await self._of_file(film.slices[0].blob_key, look)

    async def _picture(self, film: _Watched) -> Package:
        assert film.render.made is not None

        def pack(path: Path, out: Path) -> Package:
            header = picture_header(path, film.fps)
            segments = picture_segments(path, header, film.frame_counts, fps=film.fps)
            return Package.write(out, header, segments)

        return await self._package(film, PICTURE, film.render.made.output_key, pack)

    async def _sound(self, film: _Watched) -> Package:
        bounds = sound_bounds(film.frame_counts, fps=film.fps, rate_hz=SOUND_RATE_HZ)

        def pack(path: Path, out: Path) -> Package:
            return Package.write(out, sound_header(path), sound_segments(path, bounds))

        return await self._package(film, SOUND, film.sound_source, pack)

    async def _package(
        self, film: _Watched, track: str, source: str, pack: Callable[[Path, Path], Package]
    ) -> Package:
        """Return the index of a track, cutting it first if nobody has."""
        key = _package_key(film.render, track, source)
        try:
            return Package.from_json(await self.blobs.get(f"{key}.json"))
        except BlobNotFound:
            pass
        with tempfile.TemporaryDirectory(prefix="framekiln-stream-") as folder:
            path, out = Path(folder) / "film.mp4", Path(folder) / "segments"
            await self.blobs.get_to_read(source, path)
            made = await asyncio.to_thread(pack, path, out)
            await self.blobs.put_file(key, out)
            # Last: whoever finds the index finds what it tells of.
            await self.blobs.put(f"{key}.json", made.to_json())
        return made

    async def _part(
        self, film: _Watched, track: str, package: Package, number: int | None
    ) -> bytes:
        span = (0, package.init_bytes) if number is None else package.span(number)
        if span is None:
            raise SegmentNotFound(f"there is no segment {number}")
        source = film.sound_source
        key = _package_key(film.render, track, source)
        return b"".join(
            [chunk async for chunk in self.blobs.stream(key, start=span[0], end=span[1])]
        )

    async def _of_slice(self, film: _Watched, number: int, make: Callable[[Path], bytes]) -> bytes:
        return await self._of_file(film.slices[number].blob_key, make)

    async def _of_file(self, key: str, make: Callable[[Path], T]) -> T:
        with tempfile.TemporaryDirectory(prefix="framekiln-stream-") as folder:
            path = Path(folder) / "slice.mp4"
            await self.blobs.get_to_read(key, path)
            return await asyncio.to_thread(make, path)


def _package_key(render: Render, track: str, source: str) -> str:
    """Return where a track's segments are kept; another attempt's output has other ones."""
    name = source.rsplit("/", 1)[-1].partition(".")[0]
    return f"{render_prefix(render.organization_id, render.id)}/stream/{track}-{name}"
