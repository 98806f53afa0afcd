"""Where somebody speaks: the Silero voice activity network over the sound, 32 ms at a time."""

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
class Span:
    """A stretch of sound, in milliseconds from the beginning of the samples."""

    start_ms: int
    end_ms: int

    @property
    def duration_ms(self) -> int:
        """How long it is."""
        return self.end_ms - self.start_ms


class VoiceGate(Protocol):
    """Tells where there may be speech; all else is never listened to."""

    def listen(self, samples: Samples) -> Probabilities:
        """Return how likely there is a voice in each 32 ms."""


class VoiceDetector:
    """The network, loaded once."""

    def __init__(self, path: Path) -> None:
        # A tiny recurrent network: more threads only wait for each other.
        self._network = Network(path, threads=1)

    def listen(self, samples: Samples) -> Probabilities:
        """Return how likely there is a voice in each 32 ms."""
        count = -(-len(samples) // FRAME_SAMPLES)
        padded = np.zeros(_CONTEXT_SAMPLES + count * FRAME_SAMPLES, np.float32)
        padded[_CONTEXT_SAMPLES : _CONTEXT_SAMPLES + len(samples)] = samples
        state: Array = np.zeros(_STATE_SHAPE, np.float32)
        rate = np.array(SAMPLE_HZ, np.int64)
        found = np.zeros(count, np.float32)
        for frame in range(count):
            first = frame * FRAME_SAMPLES
            heard = padded[None, first : first + _CONTEXT_SAMPLES + FRAME_SAMPLES]
            feeds: dict[str, Array] = {"input": heard, "state": state, "sr": rate}
            probability, state = self._network.run(["output", "stateN"], feeds)
            found[frame] = probability[0, 0]
        return found


def spans_of_speech(
    probabilities: Probabilities, *, least_ms: int = 200, pause_ms: int = 300
) -> list[Span]:
    """Return where somebody speaks for at least `least_ms`, across pauses up to `pause_ms`."""
    spans: list[Span] = []
    for span in _runs(probabilities):
        if spans and span.start_ms - spans[-1].end_ms <= pause_ms:
            spans[-1] = Span(spans[-1].start_ms, span.end_ms)
        else:
            spans.append(span)
    return [span for span in spans if span.duration_ms >= least_ms]


def _runs(probabilities: Probabilities) -> list[Span]:
    """Return runs that begin with a clear voice and last while there is some."""
    runs: list[Span] = []
    began: int | None = None
    for frame, probability in enumerate(probabilities):
        if began is None and probability >= _BEGINS:
            began = frame
        elif began is not None and probability < _GOES_ON:
            runs.append(Span(began * FRAME_MS, frame * FRAME_MS))
            began = None
    if began is not None:
        runs.append(Span(began * FRAME_MS, len(probabilities) * FRAME_MS))
    return runs
