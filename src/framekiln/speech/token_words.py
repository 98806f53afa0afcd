"""Groups tokens into words. Pure.

In most languages a word begins with a space. In languages without spaces, each run of complete
characters from one or more tokens is a word. Punctuation belongs to the word it touches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import category

from framekiln.speech.model import SPACELESS, is_latin
from framekiln.speech.whisper_tokens import WhisperTokens

_OPENING_KINDS: Final = frozenset({"Ps", "Pi"})
_OPENING_MARKS: Final = frozenset("\"'¿¡")
_HALF_A_LETTER: Final = "\ufffd"


@dataclass(frozen=True)
class TokenWord:
    """A word, and its range in the token list."""

    text: str
    first: int
    end: int


def group_words(tokens: WhisperTokens, text: Sequence[int], language: str) -> list[TokenWord]:
    """Return the words of text tokens, in order."""
    letters = _whole_letters(tokens, text)
    words: list[TokenWord] = []
    for piece in letters:
        if words and not _begins_word(piece.text, words[-1].text, language):
            words[-1] = _joined(words[-1], piece)
        else:
            words.append(piece)
    merged = _merge_punctuation(words)
    stripped = [TokenWord(word.text.strip(), word.first, word.end) for word in merged]
    # Music notes and similar symbols are not speech.
    return [word for word in stripped if _is_word(word.text)]


def _whole_letters(tokens: WhisperTokens, text: Sequence[int]) -> list[TokenWord]:
    """Return the shortest runs of tokens that contain no partial characters."""
    pieces = []
    first = 0
    for end in range(1, len(text) + 1):
        decoded = tokens.decode(text[first:end])
        if _HALF_A_LETTER not in decoded or end == len(text):
            pieces.append(TokenWord(decoded.replace(_HALF_A_LETTER, ""), first, end))
            first = end
    return pieces


def _begins_word(piece: str, before: str, language: str) -> bool:
    if piece.startswith(" "):
        return True
    if language not in SPACELESS or not piece or not before:
        return False
    # Words and numbers in Latin letters are written as in other languages.
    return not (is_latin(piece[0]) and is_latin(before[-1]))


def _merge_punctuation(words: list[TokenWord]) -> list[TokenWord]:
    """Attach opening marks to the next word, and all other marks to the previous one."""
    merged: list[TokenWord] = []
    for word in words:
        if merged and _is_opening(merged[-1].text):
            bare = TokenWord(word.text.lstrip(), word.first, word.end)
            merged[-1] = _joined(merged[-1], bare)
        elif merged and not _is_word(word.text) and not _is_opening(word.text):
            merged[-1] = _joined(merged[-1], word)
        else:
            merged.append(word)
    return merged


def _is_word(text: str) -> bool:
    return any(letter.isalnum() for letter in text)


def _is_opening(text: str) -> bool:
    bare = text.strip()
    return bool(bare) and all(
        mark in _OPENING_MARKS or category(mark) in _OPENING_KINDS for mark in bare
    )


def _joined(left: TokenWord, right: TokenWord) -> TokenWord:
    return TokenWord(left.text + right.text, left.first, right.end)
