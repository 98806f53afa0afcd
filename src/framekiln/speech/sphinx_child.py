"""The child process of pocketsphinx: a request and samples in, words out.

Recognition holds the interpreter lock, and one input influences the next. It therefore runs in a
separate process, a new one for each window. The service never imports this module.
"""

import json
import re
import sys
from typing import Any, Final

import pocketsphinx  # type: ignore[import-untyped, import-not-found, unused-ignore]

FRAME_MS: Final = 10

# Silence, noises and similar; and `(2)`, the number of a pronunciation variant.
_NO_WORD: Final = ("<", "[", "(", "+")
_WAY: Final = re.compile(r"\(\d+\)$")
# Pronunciations of words that the dictionary lacks. Inaccurate, but enough to align them.
_SOUNDS: Final = {
    **{"a": "AE", "b": "B", "c": "K", "d": "D", "e": "EH", "f": "F", "g": "G", "h": "HH"},
    **{"i": "IH", "j": "JH", "k": "K", "l": "L", "m": "M", "n": "N", "o": "AA", "p": "P"},
    **{"q": "K", "r": "R", "s": "S", "t": "T", "u": "AH", "v": "V", "w": "W", "x": "K S"},
    **{"y": "IY", "z": "Z", "0": "Z IH R OW", "1": "W AH N", "2": "T UW", "3": "TH R IY"},
    **{"4": "F AO R", "5": "F AY V", "6": "S IH K S", "7": "S EH V AH N", "8": "EY T"},
    "9": "N AY N",
}
_NO_LETTERS: Final = "AH"


def main() -> None:
    """Answer one request from standard input: `{}`, or `{"align": [words]}`; then raw samples."""
    request = json.loads(sys.stdin.buffer.readline())
    pcm = sys.stdin.buffer.read()
    words = request.get("align")
    found = recognize(pcm) if words is None else align(pcm, words)
    json.dump(found, sys.stdout)


def recognize(pcm: bytes) -> list[dict[str, Any]]:
    """Return the recognized words."""
    # The second pass does not improve the result, and costs time.
    return _recognized_words(pocketsphinx.Decoder(loglevel="FATAL", fwdflat=False), pcm)


def align(pcm: bytes, words: list[str]) -> list[dict[str, Any]]:
    """Return the times of known words: of all, of the first ones, or of none."""
    decoder = pocketsphinx.Decoder(lm=None, loglevel="FATAL", beam=1e-80, wbeam=1e-60, pbeam=1e-80)
    keys = [re.sub(r"[^a-z0-9']", "", word.lower()).strip("'") or "uh" for word in words]
    for key in keys:
        if decoder.lookup_word(key) is None:
            sounds = " ".join(_SOUNDS[letter] for letter in key if letter in _SOUNDS)
            decoder.add_word(key, sounds or _NO_LETTERS, True)
    decoder.set_align_text(" ".join(keys))
    found = _recognized_words(decoder, pcm)
    same = [each["text"] for each in found] == keys[: len(found)]
    return found if same else []


def _recognized_words(decoder: Any, pcm: bytes) -> list[dict[str, Any]]:
    decoder.start_utt()
    decoder.process_raw(pcm, full_utt=True)
    decoder.end_utt()
    if decoder.hyp() is None:
        return []
    return [
        {
            "text": _WAY.sub("", segment.word),
            "start_ms": segment.start_frame * FRAME_MS,
            "end_ms": (segment.end_frame + 1) * FRAME_MS,
            "probability": min(1.0, max(0.0, float(segment.prob))),
        }
        for segment in decoder.seg()
        if not segment.word.startswith(_NO_WORD)
    ]


if __name__ == "__main__":
    main()
