"""The table of topics: name, meaning, sample."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from framekiln.kit.suggestions import did_you_mean
from framekiln.webhooks import samples
from framekiln.webhooks.errors import UnknownTopic

EVERYTHING: Final = "*"
WEBHOOK_TEST: Final = "webhook.test"


@dataclass(frozen=True)
class Topic:
    """One kind of event; `sample` has the fields of a real one."""

    name: str
    meaning: str
    sample: samples.Data

    @property
    def family(self) -> str:
        """The noun before the dot."""
        return self.name.partition(".")[0]


_RENDERS = (
    Topic(
        "render.created",
        "a render was requested; the render of a v2 video has no events",
        samples.render("created"),
    ),
    Topic(
        "render.pending", "its bundle has arrived; it waits for a worker", samples.render("pending")
    ),
    Topic("render.rendering", "workers render it", samples.render("rendering")),
    Topic("render.completed", "the output can be fetched", samples.render("complete")),
    Topic("render.failed", "it cannot be made; `error` says why", samples.render("failed")),
)
_FILES = (
    Topic("file.created", "a file was registered", samples.file("created")),
    Topic("file.uploading", "its first bytes have arrived", samples.file("uploading")),
    Topic("file.receiving", "a streamed upload has started", samples.file("receiving")),
    Topic("file.sealed", "a streamed upload is complete", samples.file("processing")),
    Topic(
        "file.processing", "a video is uploaded and is being processed", samples.file("processing")
    ),
    Topic("file.ready", "it can be used", samples.file("ready")),
    Topic("file.failed", "it cannot be used", samples.file("failed")),
    Topic(
        "file.updated",
        "older clients: it changed in a way without a topic of its own; never sent, because each"
        " change has one",
        samples.file("ready"),
    ),
    Topic(
        "unprocessed_file.created",
        "older clients: a video was registered at `unprocessed_files`",
        samples.unprocessed_file(),
    ),
    Topic(
        "image_file.created",
        "older clients: an image was registered at `image_files`",
        samples.image_file(),
    ),
    Topic(
        "isobmff_file.created",
        "older clients: a video was registered at `isobmff_files`",
        samples.isobmff_file(),
    ),
    Topic(
        "isobmff_track.created",
        "older clients: a track was added to be uploaded",
        samples.isobmff_track(),
    ),
)
_TRANSCRIPTIONS = (
    Topic(
        "transcription.created", "a transcription was requested", samples.transcription("created")
    ),
    Topic("transcription.transcribing", "it has started", samples.transcription("transcribing")),
    Topic("transcription.completed", "the text can be fetched", samples.transcription("complete")),
    Topic("transcription.failed", "it cannot be made", samples.transcription("failed")),
)
_VIDEOS = (
    Topic("video.created", "a v2 video was requested", samples.video()),
    Topic("video.encoded", "a v2 video can be fetched", samples.video(is_ready=True)),
    Topic("video.failed", "a v2 video cannot be made", samples.video(is_failed=True)),
)
_BULKS = (
    Topic("bulk.created", "videos of a table were requested", samples.bulk("running")),
    Topic(
        "bulk.completed",
        "all its rows have ended, with a video or an error",
        samples.bulk("complete"),
    ),
    Topic("bulk.cancelled", "somebody cancelled it", samples.bulk("cancelled")),
)
_DESTINATIONS = (
    Topic("destination.complete", "an output was copied", samples.destination("complete")),
    Topic(
        "destination.failed",
        "an output cannot be copied; `error` says why",
        samples.destination("failed"),
    ),
)
_PIPELINES = (
    Topic("pipeline_run.created", "a run was requested", samples.pipeline_run("pending")),
    Topic("pipeline_run.started", "its first step has started", samples.pipeline_run("running")),
    Topic("pipeline_run.retried", "it continues where it failed", samples.pipeline_run("pending")),
    Topic("pipeline_run.completed", "every step succeeded", samples.pipeline_run("succeeded")),
    Topic("pipeline_run.failed", "a step failed permanently", samples.pipeline_run("failed")),
    Topic("pipeline_run.filtered", "some steps were skipped", samples.pipeline_run("filtered")),
    Topic("pipeline_run.cancelled", "somebody cancelled it", samples.pipeline_run("cancelled")),
    Topic("pipeline_step.started", "an attempt has started", samples.pipeline_step("running")),
    Topic(
        "pipeline_step.progress",
        "more of the media is done; at most every 10 s",
        {**samples.pipeline_step("running"), "watermark_ms": 60000},
    ),
    Topic(
        "pipeline_step.waiting_external",
        "an endpoint works on it and will call back",
        samples.pipeline_step("waiting_external"),
    ),
    Topic(
        "pipeline_step.waiting_review",
        "somebody has to decide",
        samples.pipeline_step("waiting_review"),
    ),
    Topic("pipeline_step.retrying", "another attempt follows", samples.pipeline_step("ready")),
    Topic("pipeline_step.completed", "it succeeded", samples.pipeline_step("succeeded")),
    Topic("pipeline_step.failed", "it failed permanently", samples.pipeline_step("failed")),
    Topic("pipeline_step.skipped", "it was not needed", samples.pipeline_step("skipped")),
    Topic("pipeline_step.cancelled", "its run was stopped", samples.pipeline_step("cancelled")),
    Topic("pipeline_review.decided", "approved or rejected", samples.pipeline_review("approved")),
    Topic("pipeline_review.expired", "nobody decided in time", samples.pipeline_review("expired")),
    Topic("pipeline_batch.created", "a batch was requested", samples.pipeline_batch("running")),
    Topic("pipeline_batch.completed", "every run ended", samples.pipeline_batch("completed")),
)
_OWN = (Topic(WEBHOOK_TEST, "a test of the receiver", samples.webhook_test()),)

_ALL = (
    *_RENDERS,
    *_FILES,
    *_TRANSCRIPTIONS,
    *_VIDEOS,
    *_BULKS,
    *_DESTINATIONS,
    *_PIPELINES,
    *_OWN,
)
TOPICS: Final[Mapping[str, Topic]] = MappingProxyType({topic.name: topic for topic in _ALL})
PATTERNS: Final = frozenset({EVERYTHING, *TOPICS, *(f"{topic.family}.*" for topic in _ALL)})
"""Allowed values in `events` of a subscription."""
_SAME: Final = (
    ("completed", "complete", "ready", "encoded", "succeeded", "success", "done", "finished"),
    ("started", "rendering", "processing", "transcribing", "running"),
)
"""Words that topics and statuses have for the same."""


def patterns_for(topic: str) -> list[str]:
    """Return every pattern that matches a topic."""
    return [topic, f"{TOPICS[topic].family}.*", EVERYTHING]


def find_topic(name: str) -> Topic:
    """Return a topic by name, or raise `UnknownTopic`."""
    topic = TOPICS.get(name)
    if topic is None:
        raise _unknown(name, TOPICS, field="topic")
    return topic


def check_patterns(patterns: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns without duplicates, or raise `UnknownTopic`."""
    unique = tuple(dict.fromkeys(patterns))
    for number, pattern in enumerate(unique):
        if pattern not in PATTERNS:
            raise _unknown(pattern, PATTERNS, field=f"events.{number}")
    return unique


def _unknown(name: str, known: Iterable[str], *, field: str) -> UnknownTopic:
    question = did_you_mean(_with_usual_word(name, known), known)
    hint = f": {question}" if question else "; GET /api/v1/webhook-topics lists them"
    return UnknownTopic(f"{field}: there is no topic {name[:100]!r}{hint}", field=field)


def _with_usual_word(name: str, known: Iterable[str]) -> str:
    """Return a name with the word that its family has for a status, if it has one.

    By its letters alone, `succeeded` is nearest to `cancelled`.
    """
    family, _, word = name.partition(".")
    usual = (f"{family}.{each}" for words in _SAME if word in words for each in words)
    return next((each for each in usual if each in known), name)
