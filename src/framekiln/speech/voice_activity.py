"""Voice activity detection: the Silero network, 32 ms at a time, or loudness."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from framekiln.speech.model import SAMPLE_HZ, Samples
from framekiln.speech.networks import Array, Network

FRAME_SAMPLES: Final = 512
FRAME_MS: Final = FRAME_SAMPLES * 1000 // SAMPLE_HZ

_CONTEXT_SAMPLES: Final = 64
_STATE_SHAPE: Final = (2, 1, 128)
_BEGINS: Final = 0.5
_GOES_ON: Final = 0.35

Probabilities = NDArray[np.float32]


@dataclass(frozen=True)
class SpeechSpan:
    """A span of audio, in milliseconds from the start of the samples."""

    start_ms: int
    end_ms: int

    @property
    def duration_ms(self) -> int:
        """How long it is."""
        return self.end_ms - self.start_ms


class VoiceActivityDetector(Protocol):
    """Finds the spans that may have speech; only these are transcribed."""

    def detect(self, samples: Samples) -> Probabilities:
        """Return the probability of a voice in each 32 ms."""


class SileroDetector:
    """The network, loaded once."""

    def __init__(self, path: Path) -> None:
        # A tiny recurrent network: more threads would only wait for each other.
        self._network = Network(path, threads=1)

    def detect(self, samples: Samples) -> Probabilities:
        """Return the probability of a voice in each 32 ms."""
        count = -(-len(samples) // FRAME_SAMPLES)
        padded = np.zeros(_CONTEXT_SAMPLES + count * FRAME_SAMPLES, np.float32)
        padded[_CONTEXT_SAMPLES : _CONTEXT_SAMPLES + len(samples)] = samples
        state: Array = np.zeros(_STATE_SHAPE, np.float32)
        rate = np.array(SAMPLE_HZ, np.int64)
        found = np.zeros(count, np.float32)
        for frame in range(count):
            first = frame * FRAME_SAMPLES
            chunk = padded[None, first : first + _CONTEXT_SAMPLES + FRAME_SAMPLES]
            feeds: dict[str, Array] = {"input": chunk, "state": state, "sr": rate}
            probability, state = self._network.run(["output", "stateN"], feeds)
            found[frame] = probability[0, 0]
        return found


def speech_spans(
    probabilities: Probabilities, *, least_ms: int = 200, pause_ms: int = 300
) -> list[SpeechSpan]:
    """Return the spans with speech of at least `least_ms`, across pauses up to `pause_ms`."""
    spans: list[SpeechSpan] = []
    for span in _runs(probabilities):
        if spans and span.start_ms - spans[-1].end_ms <= pause_ms:
            spans[-1] = SpeechSpan(spans[-1].start_ms, span.end_ms)
        else:
            spans.append(span)
    return [span for span in spans if span.duration_ms >= least_ms]


def _runs(probabilities: Probabilities) -> list[SpeechSpan]:
    """Return runs that begin with a clear voice and continue while there is some voice."""
    runs: list[SpeechSpan] = []
    began: int | None = None
    for frame, probability in enumerate(probabilities):
        if began is None and probability >= _BEGINS:
            began = frame
        elif began is not None and probability < _GOES_ON:
            runs.append(SpeechSpan(began * FRAME_MS, frame * FRAME_MS))
            began = None
    if began is not None:
        runs.append(SpeechSpan(began * FRAME_MS, len(probabilities) * FRAME_MS))
    return runs


_QUIET_SHARE: Final = 10
# In a noisy room, speech is hardly louder than the background. False positives cost time and are
# rejected later; false negatives are lost.
_ABOVE_DB: Final = 3.0
_SURELY_ABOVE_DB: Final = 6.0
_SILENCE_DB: Final = -55.0


class LoudnessDetector:
    """Treats loud audio as speech."""

    def detect(self, samples: Samples) -> Probabilities:
        """Return a value from 0 (quiet) to 1 (loud) for each 32 ms."""
        count = -(-len(samples) // FRAME_SAMPLES)
        if not count:
            return np.zeros(0, np.float32)
        padded = np.zeros(count * FRAME_SAMPLES, np.float32)
        padded[: len(samples)] = samples
        powers = np.square(padded, dtype=np.float64).reshape(count, -1).mean(axis=1)
        loudness_db = 10 * np.log10(powers + 1e-10)
        floor_db = max(float(np.percentile(loudness_db, _QUIET_SHARE)), _SILENCE_DB)
        above_db = loudness_db - floor_db
        share = (above_db - _ABOVE_DB) / (_SURELY_ABOVE_DB - _ABOVE_DB)
        return np.asarray(np.clip(share, 0, 1), np.float32)
