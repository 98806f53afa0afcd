"""What the child of a source session opens: frames of videos, audio, images, and facts.

The parent's side is `media/source_session.py`.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

from framekiln.kit.confined.slots import SlotMemory
from framekiln.media.audio.decoder import AudioChunk, Samples, read_audio
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.picture_frames import PictureFrames
from framekiln.media.frame_slots import plane_views, rgba_view
from framekiln.media.images.image_source import ImageSource
from framekiln.media.probe.source import probe_source
from framekiln.media.session_audio import audio_view


class ServedFacts:
    """The facts of any source."""

    def __init__(self, path: Path, _args: dict[str, Any]) -> None:
        self.facts = probe_source(path).to_json()

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the facts again."""
        return self.facts

    def close(self) -> None:
        """Nothing is open."""


class _ServedFrames:
    """Frames by time; one that is asked for again is not written again."""

    def __init__(self, frames: FrameSource | PictureFrames) -> None:
        self.facts: dict[str, Any] = {}
        self._frames = frames
        self._last: dict[str, Any] | None = None

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return when the frame at `ms` starts, and the slot that has it."""
        assert memory is not None
        ms = Fraction(request["ms"])
        shown_ms = str(self._frames.shown_ms(ms))
        if self._last is None or self._last["shown_ms"] != shown_ms:
            number, slot = memory.next_slot()
            has_alpha = self._write(ms, slot)
            self._last = {"shown_ms": shown_ms, "slot": number, "has_alpha": has_alpha}
        return self._last

    def close(self) -> None:
        """Free the decoder and the file."""
        self._frames.close()

    def _write(self, ms: Fraction, slot: memoryview) -> bool:
        """Write the frame at `ms`; return whether it has alpha."""
        raise NotImplementedError


class ServedVideo(_ServedFrames):
    """Frames of a video by time, as RGBA or as planes."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self._size: tuple[int, int] = (args["width_px"], args["height_px"])
        self._has_planes: bool = args["has_planes"]
        self._video = FrameSource(path, width_px=self._size[0], height_px=self._size[1])
        super().__init__(self._video)

    def _write(self, ms: Fraction, slot: memoryview) -> bool:
        if self._has_planes:
            return self._video.write_yuv(ms, plane_views(slot, self._size))
        self._video.write_rgba(ms, rgba_view(slot, self._size))
        return True


class ServedPictures(_ServedFrames):
    """Frames of an image file by time, scaled, as RGBA."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self._size: tuple[int, int] = (args["width_px"], args["height_px"])
        self._pictures = PictureFrames(path, width_px=self._size[0], height_px=self._size[1])
        super().__init__(self._pictures)

    def _write(self, ms: Fraction, slot: memoryview) -> bool:
        rgba_view(slot, self._size)[...] = self._pictures.rgba_at(ms)
        return True


class ServedAudio:
    """The audio of a file between two sample numbers, in runs without gaps."""

    def __init__(self, path: Path, args: dict[str, Any]) -> None:
        self.facts: dict[str, Any] = {}
        self._path = path
        self._start: int = args["start"]
        self._end: int = args["end"]
        self._chunks = read_audio(path, self._start, self._end)
        self._left: AudioChunk | None = None
        self._at = self._start

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the slot with the audio from sample `at` on, its first sample and its length.

        A length of zero means that there is no more.
        """
        assert memory is not None
        if request["at"] != self._at:
            # The source was closed meanwhile. Audio from another start may differ in a bit.
            self._chunks.close()
            self._chunks = read_audio(self._path, self._start, self._end)
            self._left = None
        number, slot = memory.next_slot()
        first, count = self._write(request["at"], audio_view(slot))
        self._at = first + count if count else request["at"]
        return {"slot": number, "first": first, "count": count}

    def close(self) -> None:
        """Free the decoder."""
        self._chunks.close()

    def _write(self, at: int, samples: Samples) -> tuple[int, int]:
        first, count, room = at, 0, int(samples.shape[1])
        while count < room and (chunk := self._next(at)) is not None:
            if count and chunk.first != first + count:
                self._left = chunk
                break
            first = first if count else chunk.first
            fits = min(room - count, chunk.end - chunk.first)
            samples[:, count : count + fits] = chunk.samples[:, :fits]
            count += fits
            self._left = chunk.cut(chunk.first + fits, chunk.end)
        return first, count

    def _next(self, at: int) -> AudioChunk | None:
        """Return the next audio from sample `at` on."""
        while (chunk := self._left or next(self._chunks, None)) is not None:
            self._left = None
            if (part := chunk.cut(at, self._end)) is not None:
                return part
        return None


class ServedImage:
    """The frames of an image file by number, at their own size."""

    def __init__(self, path: Path, _args: dict[str, Any]) -> None:
        self._image = ImageSource(path)
        width, height = self._image.size
        self.facts: dict[str, Any] = {
            "width_px": width,
            "height_px": height,
            "ends_ms": [str(end_ms) for end_ms in self._image.ends_ms],
            "plays": self._image.facts.times.plays,
        }

    def answer(self, request: dict[str, Any], memory: SlotMemory | None) -> dict[str, Any]:
        """Return the slot that has frame `number`."""
        assert memory is not None
        number, slot = memory.next_slot()
        rgba_view(slot, self._image.size)[...] = self._image.rgba(request["number"])
        return {"slot": number}

    def close(self) -> None:
        """Free the file."""
        self._image.close()
