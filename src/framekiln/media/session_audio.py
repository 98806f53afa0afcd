"""Reads the audio of a film's sources in its confined child, as `read_audio` does in this process.

The samples are the same, bit by bit. What the child answers is checked here.
"""

from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.media.audio.decoder import CHANNELS, AudioChunk, Samples
from framekiln.media.source_session import SourceSession

# One second: few messages, and little is decoded in vain.
_SLOT_SAMPLES: Final = 48_000
_SLOT_BYTES: Final = CHANNELS * 4 * _SLOT_SAMPLES


def audio_view(slot: memoryview) -> Samples:
    """Return a slot of shared memory as audio, for both sides."""
    return np.frombuffer(slot, np.float32).reshape(CHANNELS, _SLOT_SAMPLES)


@dataclass(frozen=True)
class SessionAudio:
    """Audio of the sources of one session."""

    session: SourceSession

    def read(self, path: Path, start: int, end: int) -> Generator[AudioChunk, None, None]:
        """Yield the audio between two sample numbers, in order and without overlap."""
        source = self.session.open("ServedAudio", path, {"start": start, "end": end})
        try:
            source.share(slot_bytes=_SLOT_BYTES, slots=1)
            at = start
            while True:
                answer = source.ask({"at": at})
                first, count = answer.get("first"), answer.get("count")
                if type(first) is not int or type(count) is not int:
                    source.refuse("audio without its time")
                if count == 0:
                    return
                if not 0 < count <= _SLOT_SAMPLES or not at <= first <= end - count:
                    source.refuse("audio at another time")
                # A copy: the child may write the slot at any time.
                samples = audio_view(source.slot(answer))[:, :count].copy()
                at = first + count
                yield AudioChunk(first, samples)
        finally:
            source.close()
