"""A worker opens only what its queues need."""

import gc

import pytest

from framekiln.files.jobs import FILES_QUEUE, PROCESS_FILE
from framekiln.files.streams.jobs import ASSEMBLE_STREAM
from framekiln.pipelines.running.jobs import QUEUE as STEPS_QUEUE
from framekiln.pipelines.running.jobs import RUN_STEP
from framekiln.transcripts.jobs import HEAR_SLICE, SPEECH_QUEUE
from framekiln.transcripts.recognizer import Recognizer
from framekiln.webhooks.jobs import IO_QUEUE
from framekiln.worker.handlers import open_handlers
from tests.support.app import Kiln


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
async def test_speech_is_there_only_where_it_is_needed(
    kiln: Kiln, queues: list[str], count: int
) -> None:
    before = recognizers()
    async with open_handlers(kiln.services, queues=queues, concurrency=1) as handlers:
        assert recognizers() - before == count
        assert (PROCESS_FILE in handlers) is (FILES_QUEUE in queues)
        assert (ASSEMBLE_STREAM in handlers) is (FILES_QUEUE in queues)
        assert (HEAR_SLICE in handlers) is (SPEECH_QUEUE in queues)
        assert (RUN_STEP in handlers) is (STEPS_QUEUE in queues)
