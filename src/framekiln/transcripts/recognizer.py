"""The speech engine of this process: loaded on first use, with its own threads.

The number of concurrent recognitions depends on the cores and the configured threads.
"""

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from framekiln.speech.configuration import SpeechSettings
from framekiln.speech.model import Samples, Transcript
from framekiln.speech.transcriber import SpeechSlice, Transcriber

_USEFUL_THREADS: Final = 4

Result = TypeVar("Result")


class Recognizer:
    """One model for all jobs. Must be closed."""

    def __init__(self, settings: SpeechSettings) -> None:
        self.settings = settings
        cores = os.cpu_count() or 1
        places = cores // (settings.threads or min(_USEFUL_THREADS, cores))
        self._threads = ThreadPoolExecutor(max(1, places), thread_name_prefix="speech")
        self._opening = threading.Lock()
        self._speech: Transcriber | None = None

    async def close(self) -> None:
        """Wait for running recognitions; start no others."""
        await asyncio.to_thread(self._threads.shutdown, cancel_futures=True)

    async def check_language(self, language: str) -> str:
        """Return the engine's code for a language; raise if it is unsupported."""
        return await self._run(lambda speech: speech.check_language(language))

    async def detect_language(self, samples: Samples) -> str | None:
        """Return the spoken language; None if there is no speech."""
        return await self._run(lambda speech: speech.detect_language(samples))

    async def transcribe_slice(
        self, samples: Samples, part: SpeechSlice, language: str | None
    ) -> Transcript:
        """Return the transcript of one slice, with times relative to the whole audio."""
        return await self._run(lambda speech: speech.transcribe_slice(samples, part, language))

    async def _run(self, step: Callable[[Transcriber], Result]) -> Result:
        running = asyncio.get_running_loop()
        return await running.run_in_executor(self._threads, lambda: step(self._opened()))

    def _opened(self) -> Transcriber:
        with self._opening:
            if self._speech is None:
                self._speech = Transcriber.open(self.settings)
            return self._speech
