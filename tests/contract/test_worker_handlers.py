"""A worker opens only what its queues need."""

import gc

import pytest

from framekiln.files.jobs import ASSEMBLE_STREAM, FILES_QUEUE, PROCESS_FILE
from framekiln.pipelines.jobs import RUN_STEP, STEPS_QUEUE
from framekiln.transcripts.jobs import SPEECH_QUEUE, TRANSCRIBE_SLICE
from framekiln.transcripts.recognizer import Recognizer
from framekiln.webhooks.jobs import IO_QUEUE
from framekiln.worker.handlers import open_handlers
from tests.support.app import AppHarness


def recognizers() -> int:
    gc.collect()
    return sum(isinstance(each, Recognizer) for each in gc.get_objects())


@pytest.mark.parametrize(
    ("queues", "count"),
    [
        ([FILES_QUEUE, IO_QUEUE], 0),
        ([SPEECH_QUEUE], 1),
        ([STEPS_QUEUE], 1),
        ([SPEECH_QUEUE, STEPS_QUEUE], 1),
    ],
)
async def test_the_speech_model_is_loaded_only_for_queues_that_need_it(
    app: AppHarness, queues: list[str], count: int
) -> None:
    before = recognizers()
    async with open_handlers(app.services, queues=queues, concurrency=1) as handlers:
        assert recognizers() - before == count
        assert (PROCESS_FILE in handlers) is (FILES_QUEUE in queues)
        assert (ASSEMBLE_STREAM in handlers) is (FILES_QUEUE in queues)
        assert (TRANSCRIBE_SLICE in handlers) is (SPEECH_QUEUE in queues)
        assert (RUN_STEP in handlers) is (STEPS_QUEUE in queues)
