"""The vocabulary of the recognizer: token numbers to text, and special tokens.

Text is byte-level BPE: a token is a run of bytes, so a character may span several tokens.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from framekiln.speech.errors import SpeechModelDamaged

TIMESTAMP_MS: Final = 20


@dataclass(frozen=True)
class WhisperTokens:
    """Token numbers of one model. Numbers from `first_timestamp` on are times, 20 ms apart."""

    pieces: tuple[bytes, ...]
    languages: dict[str, int]
    start: int
    end: int
    transcribe: int
    no_timestamps: int
    suppressed: tuple[int, ...]
    suppressed_at_first: tuple[int, ...]

    @property
    def first_timestamp(self) -> int:
        """The token of 0 ms."""
        return self.no_timestamps + 1

    @property
    def no_speech(self) -> int:
        """The token for no speech."""
        return self.no_timestamps - 1

    def is_text(self, token: int) -> bool:
        """Return whether a token is text, not a timestamp or special token."""
        return token < self.end

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; partial characters become U+FFFD."""
        return self.decode_bytes(tokens).decode("utf-8", errors="replace")

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of the text tokens."""
        return b"".join(self.pieces[token] for token in tokens if self.is_text(token))

    def prompt(self, language: str) -> list[int]:
        """Return the prompt for text in this language."""
        return [self.start, self.languages[language], self.transcribe]


def read_tokens(folder: Path) -> WhisperTokens:
    """Read the vocabulary files of a model folder."""
    try:
        vocabulary = json.loads((folder / "vocab.json").read_text("utf-8"))
        settings = json.loads((folder / "generation_config.json").read_text("utf-8"))
        return _make_tokens(vocabulary, settings)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SpeechModelDamaged(
            f"{folder}: vocab.json or generation_config.json cannot be read: {error!r}"
        ) from error


def _make_tokens(vocabulary: dict[str, int], settings: dict[str, Any]) -> WhisperTokens:
    end = int(settings["eos_token_id"])
    pieces = [b""] * end
    for text, token in vocabulary.items():
        # Some models list their special tokens here too; those are not text.
        if token < end:
            pieces[token] = bytes(_byte_of()[letter] for letter in text)
    languages = {name.strip("<|>"): token for name, token in settings["lang_to_id"].items()}
    return WhisperTokens(
        pieces=tuple(pieces),
        languages=languages,
        start=int(settings["decoder_start_token_id"]),
        end=end,
        transcribe=int(settings["task_to_id"]["transcribe"]),
        no_timestamps=int(settings["no_timestamps_token_id"]),
        suppressed=tuple(settings.get("suppress_tokens") or ()),
        suppressed_at_first=tuple(settings.get("begin_suppress_tokens") or ()),
    )


@cache
def _byte_of() -> dict[str, int]:
    """Return the byte of each character in the vocabulary.

    Printable bytes represent themselves; the others use characters from U+0100 on.
    """
    printing = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    table = {chr(byte): byte for byte in printing}
    others = [byte for byte in range(0x100) if byte not in printing]
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}
