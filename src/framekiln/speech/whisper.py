"""The Whisper networks: audio to features, features and previous text to the next token.

It knows nothing about words, language codes of callers, or the plausibility of a text.

Audio goes in as a log-mel spectrogram of a hundred frames per second.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from framekiln.speech.errors import SpeechModelDamaged, SpeechModelMissing
from framekiln.speech.model import SAMPLE_HZ, Samples
from framekiln.speech.networks import Array, Network
from framekiln.speech.whisper_tokens import WhisperTokens, read_tokens

WINDOW_S: Final = 30
WINDOW_SAMPLES: Final = WINDOW_S * SAMPLE_HZ
FRAMES: Final = WINDOW_S * 100

_FFT_SAMPLES: Final = 400
_HOP_SAMPLES: Final = 160
# Slaney's scale: linear up to 1 kHz, logarithmic above.
_HZ_PER_MEL: Final = 200 / 3
_EDGE_HZ: Final = 1000.0
_EDGE_MEL: Final = _EDGE_HZ / _HZ_PER_MEL
_LOG_STEP: Final = np.log(6.4) / 27

Floats = NDArray[np.float32]


def log_mel(samples: Samples, *, bands: int) -> Floats:
    """Return `bands` x 3000 features of at most 30 s; shorter input is padded with silence."""
    window = np.zeros(WINDOW_SAMPLES, np.float32)
    window[: len(samples)] = samples[:WINDOW_SAMPLES]
    padded = np.pad(window, _FFT_SAMPLES // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT_SAMPLES)[::_HOP_SAMPLES]
    spectrum = np.fft.rfft(frames[:FRAMES] * _hann(), axis=1)
    power = (spectrum.real**2 + spectrum.imag**2).astype(np.float32)
    loudness = np.log10(np.maximum(mel_filters(bands) @ power.T, 1e-10))
    loudness = np.maximum(loudness, loudness.max() - 8)
    return np.asarray((loudness + 4) / 4, np.float32)


@cache
def mel_filters(bands: int) -> Floats:
    """Return one triangular filter over the 201 frequencies for each band, all of equal area."""
    frequencies_hz = np.linspace(0, SAMPLE_HZ / 2, _FFT_SAMPLES // 2 + 1)
    edges_hz = _hz(np.linspace(0, _mel(SAMPLE_HZ / 2), bands + 2))
    widths_hz = np.diff(edges_hz)
    distances = edges_hz[:, None] - frequencies_hz[None, :]
    rising = -distances[:-2] / widths_hz[:-1, None]
    falling = distances[2:] / widths_hz[1:, None]
    heights = 2 / (edges_hz[2:] - edges_hz[:-2])
    return np.asarray(np.maximum(0, np.minimum(rising, falling)) * heights[:, None], np.float32)


@cache
def _hann() -> Floats:
    return np.asarray(np.hanning(_FFT_SAMPLES + 1)[:-1], np.float32)


def _mel(hz: float) -> float:
    if hz < _EDGE_HZ:
        return hz / _HZ_PER_MEL
    return float(_EDGE_MEL + np.log(hz / _EDGE_HZ) / _LOG_STEP)


def _hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    logarithmic = _EDGE_HZ * np.exp(_LOG_STEP * (mels - _EDGE_MEL))
    return np.where(mels >= _EDGE_MEL, logarithmic, mels * _HZ_PER_MEL)


ENCODER_FILES: Final = ("encoder_model_quantized.onnx", "encoder_model.onnx")
DECODER_FILES: Final = ("decoder_model_merged_quantized.onnx", "decoder_model_merged.onnx")

_PAST: Final = "past_key_values"

Logits = NDArray[np.float64]


@dataclass
class DecoderState:
    """The state of the decoder: the scores of the next token, and its cache."""

    logits: Logits
    """One row for each token of the last call."""
    memory: dict[str, Array]


@dataclass(frozen=True)
class Attention:
    """The attention of the decoder to the audio for a known text."""

    weights: NDArray[np.float32]
    """Alignment heads x tokens x steps of 20 ms."""
    logits: Logits


class Whisper:
    """One model from a folder: its two networks and its tokens."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        onnx = folder / "onnx"
        self._encoder = Network(_first_of(onnx, ENCODER_FILES), threads=threads)
        self._decoder = Network(_first_of(onnx, DECODER_FILES), threads=threads)
        self.tokens: WhisperTokens = read_tokens(folder)
        self._heads = _alignment_heads(folder)
        self._bands = _bands(folder)
        self._encoded: tuple[Samples, Array] | None = None
        self._memory = [port for port in self._decoder.inputs if port.name.startswith(_PAST)]
        self._remembered = [
            port.name for port in self._decoder.outputs if port.name.startswith("present")
        ]

    def encode(self, samples: Samples) -> Array:
        """Return the features of a window of at most 30 s; the cost is the same for any length.

        The last ones are kept: what is said in a short sound is recognized after its language.
        """
        last = self._encoded
        if last is not None and np.array_equal(last[0], samples):
            return last[1]
        features = log_mel(samples, bands=self._bands)[None]
        encoded = self._encoder.run(["last_hidden_state"], {"input_features": features})[0]
        self._encoded = samples.copy(), encoded
        return encoded

    def start(self, encoded: Array, prompt: list[int]) -> DecoderState:
        """Run the decoder on the prompt."""
        feeds = self._feeds(encoded, prompt) | self._no_memory()
        logits, *memory = self._decoder.run(["logits", *self._remembered], feeds)
        kept = zip(map(_past_name, self._remembered), memory, strict=True)
        return DecoderState(_exact(logits), dict(kept))

    def advance(self, encoded: Array, token: int, step: DecoderState) -> DecoderState:
        """Run the decoder on one more token."""
        feeds = self._feeds(encoded, [token]) | step.memory
        feeds["use_cache_branch"] = np.array([True])
        names = [name for name in self._remembered if ".encoder." not in name]
        logits, *memory = self._decoder.run(["logits", *names], feeds)
        # The cached encoder state stays the same.
        kept = zip(map(_past_name, names), memory, strict=True)
        return DecoderState(_exact(logits), step.memory | dict(kept))

    def cross_attention(self, encoded: Array, text: list[int]) -> Attention:
        """Run the decoder on a whole text and return its attention."""
        layers = sorted({layer for layer, _ in self._heads})
        names = [f"cross_attentions.{layer}" for layer in layers]
        feeds = self._feeds(encoded, text) | self._no_memory()
        logits, *attention = self._decoder.run(["logits", *names], feeds)
        by_layer = dict(zip(layers, attention, strict=True))
        weights = np.stack([by_layer[layer][0, head] for layer, head in self._heads])
        return Attention(weights, _exact(logits))

    def _feeds(self, encoded: Array, tokens: list[int]) -> dict[str, Array]:
        return {
            "input_ids": np.array([tokens], np.int64),
            "encoder_hidden_states": encoded,
            "use_cache_branch": np.array([False]),
        }

    def _no_memory(self) -> dict[str, Array]:
        return {
            port.name: np.zeros((1, port.shape[1], 0, port.shape[3]), np.float32)  # type: ignore[arg-type]
            for port in self._memory
        }


def _past_name(name: str) -> str:
    return name.replace("present", _PAST, 1)


def _exact(logits: Array) -> Logits:
    return np.asarray(logits[0], np.float64)


def _bands(folder: Path) -> int:
    """Return the number of mel bands of the model; all but the largest use 80."""
    path = folder / "preprocessor_config.json"
    return int(json.loads(path.read_text("utf-8"))["feature_size"]) if path.exists() else 80


def _first_of(folder: Path, names: tuple[str, ...]) -> Path:
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise SpeechModelMissing(f"{folder} has none of {', '.join(names)}")


def _alignment_heads(folder: Path) -> list[tuple[int, int]]:
    """Return the attention heads that follow the audio: layer and number."""
    path = folder / "generation_config.json"
    try:
        heads = json.loads(path.read_text("utf-8"))["alignment_heads"]
        return [(int(layer), int(head)) for layer, head in heads]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpeechModelDamaged(
            f"{path} has no alignment_heads, which word times need: {error!r}"
        ) from error
