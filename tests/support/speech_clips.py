"""Real speech with its text and word times, and the error of a transcript."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import av
import numpy as np

from framekiln.speech.model import Samples, Transcript

FOLDER = Path(__file__).parent / "speech"
CLIPS = (
    "acoustic_corpus",
    "cold_corpus",
    "cold_corpus3",
    "austen_0870",
    "austen_0880",
    "austen_0890",
    "austen_0920",
    "austen_0930",
)

# Different spellings of one thing are not errors; hesitations are rarely transcribed.
_SAME = {
    "yknow": "you know",
    "alright": "all right",
    "gonna": "going to",
    "mr": "mister",
    "okay": "ok",
}
_HESITATIONS = {"um", "uh", "hmm", "er"}


@dataclass(frozen=True)
class TimedWord:
    """A normalized word and its start time."""

    text: str
    start_ms: int


@dataclass(frozen=True)
class SpeechClip:
    """A recording, its text, and the times of its words."""

    name: str
    samples: Samples
    text: str
    words: tuple[TimedWord, ...]

    @property
    def duration_ms(self) -> int:
        return len(self.samples) // 16


@dataclass(frozen=True)
class TranscriptScore:
    """The score of a transcript; `late_ms` has one number for each word that both have."""

    word_count: int
    errors: int
    late_ms: tuple[int, ...]


def read_clip(name: str) -> SpeechClip:
    with av.open(str(FOLDER / f"{name}.flac")) as container:
        frames = [frame.to_ndarray()[0] for frame in container.decode(audio=0)]
        assert container.streams.audio[0].rate == 16_000
    samples = np.concatenate(frames).astype(np.float32) / np.float32(32_768)
    first, *rows = (FOLDER / f"{name}.tsv").read_text().splitlines()
    words = []
    for row in rows:
        start_ms, _, text = row.split("\t")
        words += [TimedWord(word, int(start_ms)) for word in normal_words(text)]
    return SpeechClip(name, samples, first.removeprefix("# "), tuple(words))


def normal_words(text: str) -> list[str]:
    """Split a text into comparable words."""
    words = re.findall(r"[^\W_]+(?:'[^\W_]+)*", text.lower().replace("\u2019", "'"))
    same = " ".join(_SAME.get(word, word) for word in words).split()
    return [word for word in same if word not in _HESITATIONS]


def score(clip: SpeechClip, transcript: Transcript) -> TranscriptScore:
    """Compare words with the text, and times with the alignment."""
    heard = [
        TimedWord(word, spoken.start_ms)
        for spoken in transcript.words
        for word in normal_words(spoken.text)
    ]
    said = normal_words(clip.text)
    texts = [word.text for word in heard]
    pairs = matches([word.text for word in clip.words], texts)
    late_ms = tuple(heard[right].start_ms - clip.words[left].start_ms for left, right in pairs)
    return TranscriptScore(len(said), word_errors(said, texts), late_ms)


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """Count the words to replace, add or remove until both are equal."""
    return int(_distances(said, heard)[-1, -1])


def matches(said: Sequence[str], heard: Sequence[str]) -> list[tuple[int, int]]:
    """Pair the positions of equal words along the shortest edit path between the texts."""
    table = _distances(said, heard)
    left, right = len(said), len(heard)
    pairs = []
    while left and right:
        is_equal = said[left - 1] == heard[right - 1]
        if table[left, right] == table[left - 1, right - 1] + (not is_equal):
            left, right = left - 1, right - 1
            if is_equal:
                pairs.append((left, right))
        elif table[left, right] == table[left - 1, right] + 1:
            left -= 1
        else:
            right -= 1
    return pairs[::-1]


def _distances(said: Sequence[str], heard: Sequence[str]) -> np.ndarray:
    table = np.zeros((len(said) + 1, len(heard) + 1), int)
    table[:, 0], table[0] = range(len(said) + 1), range(len(heard) + 1)
    for i, left in enumerate(said, start=1):
        for j, right in enumerate(heard, start=1):
            changed = table[i - 1, j - 1] + (left != right)
            table[i, j] = min(changed, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table
