"""Writes raw audio as a WAV file: float32, two interleaved channels."""

import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.media.audio.decoder import CHANNELS, RATE_HZ

_SAMPLE_BYTES: Final = 4 * CHANNELS
_FLOAT: Final = 3
# The lengths in the header have 32 bits: about three hours.
_MAX_BYTES: Final = (1 << 32) - 1024
# Far over full scale, which the limiter reduces; anything higher is a calculation error.
_LOUDEST: Final = 16.0


def write_wav(pieces: Iterable[bytes], path: Path, *, rate_hz: int = RATE_HZ) -> int:
    """Write the audio, cut to what a WAV file can hold, and return the number of samples.

    Values that are not numbers become silence.
    """
    length = 0
    with path.open("wb") as file:
        file.write(_header(0, rate_hz))
        for piece in _whole_samples(pieces):
            kept = piece[: _MAX_BYTES - length]
            values = np.frombuffer(kept, "<f4")
            np.nan_to_num(values, nan=0.0).clip(-_LOUDEST, _LOUDEST).tofile(file)
            length += len(kept)
        file.seek(0)
        file.write(_header(length, rate_hz))
    return length // _SAMPLE_BYTES


def _whole_samples(pieces: Iterable[bytes]) -> Iterable[bytes]:
    rest = b""
    for piece in pieces:
        data = rest + piece
        end = len(data) - len(data) % _SAMPLE_BYTES
        rest = data[end:]
        yield data[:end]


def _header(length: int, rate_hz: int) -> bytes:
    form = struct.pack(
        "<HHIIHH", _FLOAT, CHANNELS, rate_hz, rate_hz * _SAMPLE_BYTES, _SAMPLE_BYTES, 32
    )
    parts = (
        b"WAVE",
        b"fmt " + struct.pack("<I", len(form)) + form,
        b"fact" + struct.pack("<II", 4, length // _SAMPLE_BYTES),
        b"data" + struct.pack("<I", length),
    )
    body = b"".join(parts)
    return b"RIFF" + struct.pack("<I", len(body) + length) + body
