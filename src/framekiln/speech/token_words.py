"""Groups tokens into words, and finds their times. Pure.

In most languages a word begins with a space. In languages without spaces, each run of complete
characters from one or more tokens is a word. Punctuation belongs to the word it touches.

Times come from the attention of the decoder: dynamic time warping finds the cheapest monotonic path
through all tokens and all time steps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from unicodedata import category

import numpy as np
from numpy.typing import NDArray

from framekiln.speech.model import SPACELESS, is_latin
from framekiln.speech.whisper_tokens import WhisperTokens

STEP_MS: Final = 20

_MEDIAN_STEPS: Final = 7

Floats = NDArray[np.float64]


def token_times_ms(weights: NDArray[np.float32]) -> list[int]:
    """Return when each token begins, from attention as heads x tokens x steps of 20 ms."""
    path = dynamic_time_warp(-_sharpen(weights))
    begins = np.unique(path[:, 0], return_index=True)[1]
    return [int(step) * STEP_MS for step in path[begins, 1]]


def _sharpen(weights: NDArray[np.float32]) -> Floats:
    """Return tokens x steps: how much more a token attends to a step than other tokens do."""
    attention = np.asarray(weights, np.float64)
    attention = attention / np.maximum(attention.sum(axis=-1, keepdims=True), 1e-9)
    spread = attention.std(axis=-2, keepdims=True)
    attention = (attention - attention.mean(axis=-2, keepdims=True)) / (spread + 1e-6)
    return np.asarray(_median(attention).mean(axis=0), np.float64)


def _median(attention: Floats) -> Floats:
    half = _MEDIAN_STEPS // 2
    if attention.shape[-1] <= half:
        return attention
    padded = np.pad(attention, ((0, 0), (0, 0), (half, half)), mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, _MEDIAN_STEPS, axis=-1)
    return np.asarray(np.median(windows, axis=-1), np.float64)


def dynamic_time_warp(costs: Floats) -> NDArray[np.intp]:
    """Return the cheapest path as pairs of row and column, from corner to corner."""
    rows, columns = costs.shape
    total = np.full((rows + 1, columns + 1), np.inf)
    total[0, 0] = 0
    # All cells of a diagonal depend only on the two diagonals before it.
    for diagonal in range(2, rows + columns + 1):
        row = np.arange(max(1, diagonal - columns), min(rows, diagonal - 1) + 1)
        column = diagonal - row
        before = np.minimum(total[row - 1, column], total[row, column - 1])
        before = np.minimum(before, total[row - 1, column - 1])
        total[row, column] = before + costs[row - 1, column - 1]
    return _trace(total)


def _trace(total: Floats) -> NDArray[np.intp]:
    row, column = total.shape[0] - 1, total.shape[1] - 1
    path = []
    while row > 0 and column > 0:
        path.append((row - 1, column - 1))
        # On a tie the diagonal wins, then the earlier token.
        ways = ((row - 1, column - 1), (row - 1, column), (row, column - 1))
        row, column = min(ways, key=lambda way: total[way])
    return np.array(path[::-1], np.intp)


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
