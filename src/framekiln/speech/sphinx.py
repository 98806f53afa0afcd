"""The only module that uses pocketsphinx: recognition and alignment, in a child process."""

import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from framekiln.kit.processes import with_parent_death_signal
from framekiln.speech.errors import SpeechEngineFailed, SpeechModelMissing
from framekiln.speech.model import Samples, Word

# A window is half a minute, and the child is not much slower than real time.
_TIMEOUT_S: Final = 600.0
_CHILD: Final = "framekiln.speech.sphinx_child"
_FULL_SCALE: Final = 32_767


def is_installed() -> bool:
    """Return whether pocketsphinx, which includes its model, is installed."""
    return importlib.util.find_spec("pocketsphinx") is not None


def require_installed() -> None:
    """Raise if it is not installed."""
    if not is_installed():
        raise SpeechModelMissing(
            "pocketsphinx is not installed; there are wheels for Python 3.11 and 3.13:"
            " `pip install pocketsphinx`"
        )


def recognize(samples: Samples) -> list[Word]:
    """Return the words of a window, with times relative to its start."""
    return _ask({}, samples)


def align(samples: Samples, texts: Sequence[str]) -> list[Word]:
    """Return the times of known words: of all, of the first ones, or of none."""
    found = _ask({"align": list(texts)}, samples)
    return [
        Word(text, word.start_ms, word.end_ms, word.probability)
        for text, word in zip(texts, found, strict=False)
    ]


def _ask(request: dict[str, Any], samples: Samples) -> list[Word]:
    pcm = (np.clip(samples, -1, 1) * _FULL_SCALE).astype("<i2").tobytes()
    command = with_parent_death_signal((sys.executable, "-m", _CHILD), signal.SIGKILL)
    try:
        done = subprocess.run(
            command,
            input=json.dumps(request).encode() + b"\n" + pcm,
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=True,
        )
        return [Word(**word) for word in json.loads(done.stdout)]
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        reason = lines[-1] if lines else f"exit status {error.returncode}"
        raise SpeechEngineFailed(f"pocketsphinx crashed: {reason}") from error
    except (OSError, ValueError, TypeError, subprocess.TimeoutExpired) as error:
        raise SpeechEngineFailed(f"pocketsphinx gave no result: {error!r}") from error
