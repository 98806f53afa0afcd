"""Settings of a mix, in a module that does not import the mixer."""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from framekiln.media.audio.limiter import Limiter

CEILING: Final = 10 ** (-1 / 20)
"""One decibel below full scale: headroom for what an encoder adds."""


class AudioCoding(Enum):
    """The audio encoding: container, codec, sample format, samples per frame."""

    AAC = ("mp4", "aac", "fltp", 1024)
    OPUS = ("webm", "libopus", "flt", 960)
    PCM = ("mov", "pcm_s16le", "s16", 1024)
    """Uncompressed, for further processing."""
    WAV = ("wav", "pcm_s16le", "s16", 1024)
    """Uncompressed, for browsers."""

    def __init__(self, container: str, codec: str, samples: str, frame_samples: int) -> None:
        self.container = container
        self.codec = codec
        self.samples = samples
        self.frame_samples = frame_samples


STANDARD_AUDIO_BITS_PER_S: Final = 192_000


@dataclass(frozen=True)
class AudioSettings:
    """Settings of the encoder; PCM has no bit rate."""

    coding: AudioCoding = AudioCoding.AAC
    bits_per_s: int = STANDARD_AUDIO_BITS_PER_S


STANDARD_AUDIO: Final = AudioSettings()


@dataclass(frozen=True)
class Mastering:
    """The mastering of a mix; with `target_lufs` None its loudness is unchanged."""

    target_lufs: float | None = None
    has_limiter: bool = True
    """Without a limiter, samples over full scale are clipped."""
    is_true_peak: bool = False
    """Whether to limit levels between samples too, with a ceiling 1 dB below full scale."""

    def limiter(self) -> "Limiter | None":
        """Return a new limiter, or None if there is none."""
        from framekiln.media.audio.limiter import TRUE_PEAK, Limiter  # noqa: PLC0415

        if not self.has_limiter:
            return None
        return Limiter(CEILING, TRUE_PEAK) if self.is_true_peak else Limiter()


NO_MASTERING: Final = Mastering()
"""The default of pages: only samples over full scale are changed."""
