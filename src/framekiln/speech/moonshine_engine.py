"""The Moonshine engine: English only, less than half of Whisper's size and time.

It has no word times. If pocketsphinx is installed, it aligns the words with the audio; the
remaining words are distributed over the speech by their length.

The cost grows with the duration of the audio, not with that of a window.
"""

import base64
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from framekiln.kit.lazy_log import LazyLogger
from framekiln.speech import hallucination, sphinx
from framekiln.speech.engine_protocol import (
    RecognizedWindow,
    VoicedSamples,
    place_words,
    split_window,
)
from framekiln.speech.errors import SpeechEngineFailed, SpeechModelDamaged
from framekiln.speech.languages import ENGLISH
from framekiln.speech.model import SAMPLE_HZ, Samples, Word
from framekiln.speech.networks import Array, Network
from framekiln.speech.voice_activity import SpeechSpan
from framekiln.speech.windows import SpeechWindow
from framekiln.speech.word_times import spread_words

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


log = LazyLogger(__name__)

_LANGUAGE: Final = "en"
_MIN_WINDOW_MS: Final = 6000
_ENDS_SENTENCE: Final = (".", "?", "!")


class MoonshineEngine:
    """The first fallback."""

    window_ms: Final = 15_000
    early_ms: Final = 0
    languages: Final = ENGLISH

    def __init__(self, folder: Path, *, name: str, threads: int) -> None:
        self.name = name
        self._moonshine = Moonshine(folder, threads=threads)
        self._aligns = sphinx.is_installed()

    def detect_language(self, samples: Samples) -> str:
        """Return English in any case."""
        return _LANGUAGE

    def recognize(
        self, sound: VoicedSamples, window: SpeechWindow, language: str | None
    ) -> RecognizedWindow:
        """Return the speech in a window; if nothing is plausible, recognize it in two halves."""
        samples = window.cut(sound.samples)
        uttered = self._moonshine.recognize(samples)
        if not uttered.is_loop and hallucination.is_believable(
            uttered.text, uttered.log_probability
        ):
            words = self._timed(group_pieces(uttered.pieces), samples, _voice_in(window, sound))
            return RecognizedWindow(_LANGUAGE, tuple(split_sentences(place_words(words, window))))
        if window.duration_ms < _MIN_WINDOW_MS:
            return RecognizedWindow(_LANGUAGE, ())
        halves = [
            self.recognize(sound, half, language) for half in split_window(window, sound.samples)
        ]
        return RecognizedWindow(_LANGUAGE, tuple(s for half in halves for s in half.segments))

    def _timed(
        self, words: list[tuple[str, float]], samples: Samples, voice: list[SpeechSpan]
    ) -> list[Word]:
        found = self._align([text for text, _ in words], samples)
        timed = [SpeechSpan(word.start_ms, word.end_ms) for word in found]
        if len(timed) < len(words):
            from_ms = timed[-1].end_ms if timed else 0
            rest = [
                SpeechSpan(max(from_ms, span.start_ms), span.end_ms)
                for span in voice
                if span.end_ms > from_ms
            ]
            timed += spread_words([text for text, _ in words[len(timed) :]], rest)
        return [
            Word(text, span.start_ms, span.end_ms, probability)
            for (text, probability), span in zip(words, timed, strict=True)
        ]

    def _align(self, texts: list[str], samples: Samples) -> list[Word]:
        if not self._aligns or not texts:
            return []
        try:
            return sphinx.align(samples, texts)
        except SpeechEngineFailed as error:
            log.warning("speech.alignment_unavailable", reason=error.message)
            return []


def group_pieces(pieces: tuple[TextPiece, ...]) -> list[tuple[str, float]]:
    """Return words and their probabilities; separate punctuation belongs to the word before it."""
    words: list[tuple[bytes, list[float]]] = []
    for piece in pieces:
        if not words or piece.text.startswith(b" "):
            words.append((b"", []))
        text, probabilities = words[-1]
        words[-1] = (text + piece.text, [*probabilities, piece.probability])
    grouped: list[tuple[str, float]] = []
    for raw, probabilities in words:
        written = raw.decode("utf-8", errors="ignore").strip()
        probability = sum(probabilities) / len(probabilities)
        if any(letter.isalnum() for letter in written):
            grouped.append((written, probability))
        elif written and grouped:
            grouped[-1] = (grouped[-1][0] + written, grouped[-1][1])
    return grouped


def split_sentences(words: tuple[Word, ...]) -> list[tuple[Word, ...]]:
    """Return the words sentence by sentence."""
    sentences: list[list[Word]] = [[]]
    for word in words:
        sentences[-1].append(word)
        if word.text.endswith(_ENDS_SENTENCE):
            sentences.append([])
    return [tuple(sentence) for sentence in sentences if sentence]


def _voice_in(window: SpeechWindow, sound: VoicedSamples) -> list[SpeechSpan]:
    """Return the spans of speech in a window, relative to the window."""
    voice, before_ms = [], 0
    for piece in window.pieces:
        for span in sound.voice:
            start_ms = max(span.start_ms, piece.start_ms)
            end_ms = min(span.end_ms, piece.end_ms)
            if end_ms > start_ms:
                shift_ms = before_ms - piece.start_ms
                voice.append(SpeechSpan(start_ms + shift_ms, end_ms + shift_ms))
        before_ms += piece.duration_ms
    return voice or [SpeechSpan(0, window.duration_ms)]
