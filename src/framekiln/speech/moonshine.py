"""The Moonshine networks: a window of English in, text pieces with their probabilities out.

The cost grows with the duration of the audio, not with that of a window. There are no word times.
"""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.speech import hallucination
from framekiln.speech.errors import SpeechModelDamaged
from framekiln.speech.model import SAMPLE_HZ, Samples
from framekiln.speech.networks import Array, Network

_PAST: Final = "past_key_values"
_BEGIN: Final = 1
_END: Final = 2
# The limit of the model's authors; no one speaks faster.
_TOKENS_A_SECOND: Final = 6.5
_MIN_SAMPLES: Final = SAMPLE_HZ // 2
# In the script, the vocabulary is one base64 string; this is `<unk>`, its first word.
_WORDS: Final = re.compile(rb"PHVuaz4K[A-Za-z0-9+/]+=*")
_BYTE: Final = re.compile(r"<0x([0-9A-F]{2})>")
_SPACE: Final = "\u2581"


@dataclass(frozen=True)
class TextPiece:
    """Some bytes of text, and their probability; a word begins with a space."""

    text: bytes
    probability: float


@dataclass(frozen=True)
class MoonshineOutput:
    """The text of a window; `is_loop` if it started to repeat itself."""

    pieces: tuple[TextPiece, ...]
    log_probability: float
    is_loop: bool

    @property
    def text(self) -> str:
        """The whole text."""
        return b"".join(piece.text for piece in self.pieces).decode("utf-8", errors="replace")


class Moonshine:
    """The model from its folder."""

    def __init__(self, folder: Path, *, threads: int) -> None:
        self._encoder = Network(folder / "encoder.onnx", threads=threads)
        self._decoder = Network(folder / "decoder.onnx", threads=threads)
        self._pieces = read_pieces(folder / "words.js")
        self._memory = [port for port in self._decoder.inputs if port.name.startswith(_PAST)]
        self._remembered = [
            port.name for port in self._decoder.outputs if port.name.startswith("present")
        ]

    def recognize(self, samples: Samples) -> MoonshineOutput:
        """Return the most likely text of a window, token by token."""
        padded = np.pad(samples, (0, max(0, _MIN_SAMPLES - len(samples))))
        features = {"input_values": padded[None].astype(np.float32)}
        encoded = self._encoder.run(["last_hidden_state"], features)[0]
        memory = self._no_memory()
        tokens: list[int] = []
        logs: list[float] = []
        token, is_loop = _BEGIN, False
        for place in range(int(len(padded) / SAMPLE_HZ * _TOKENS_A_SECOND) + 1):
            logits, memory = self._step(encoded, token, memory, is_first=place == 0)
            token = int(logits.argmax())
            logs.append(float(logits.max() - _log_sum(logits)))
            if token == _END:
                break
            tokens.append(token)
            is_loop = hallucination.is_looping(tokens)
            if is_loop:
                break
        pieces = [
            TextPiece(self._pieces[token], float(np.exp(log)))
            for token, log in zip(tokens, logs, strict=False)
            if token < len(self._pieces)
        ]
        return MoonshineOutput(tuple(pieces), float(np.mean(logs)), is_loop)

    def _step(
        self, encoded: Array, token: int, memory: dict[str, Array], *, is_first: bool
    ) -> tuple[Array, dict[str, Array]]:
        feeds = memory | {
            "input_ids": np.array([[token]], np.int64),
            "encoder_hidden_states": encoded,
            "use_cache_branch": np.array([not is_first]),
        }
        # The cached encoder state stays the same after the first step.
        names = [name for name in self._remembered if is_first or ".encoder." not in name]
        logits, *kept = self._decoder.run(["logits", *names], feeds)
        past = (name.replace("present", _PAST, 1) for name in names)
        return np.asarray(logits[0, -1], np.float64), memory | dict(zip(past, kept, strict=True))

    def _no_memory(self) -> dict[str, Array]:
        return {
            port.name: np.zeros((0, port.shape[1], 1, port.shape[3]), np.float32)  # type: ignore[arg-type]
            for port in self._memory
        }


def read_pieces(path: Path) -> tuple[bytes, ...]:
    """Return the bytes of each token, read from the authors' script."""
    found = _WORDS.search(path.read_bytes())
    if found is None:
        raise SpeechModelDamaged(f"{path} has no vocabulary")
    words = base64.b64decode(found[0]).decode("utf-8").split("\n")
    # The first three are special tokens.
    return (b"", b"", b"", *map(_bytes_of, words[3:]))


def _bytes_of(word: str) -> bytes:
    if byte := _BYTE.fullmatch(word):
        return bytes.fromhex(byte[1])
    return word.replace(_SPACE, " ").encode()


def _log_sum(logits: Array) -> float:
    return float(logits.max() + np.log(np.exp(logits - logits.max()).sum()))
