"""The table of topics: complete, matched as promised, and the same in the documents."""

import json
import re
from pathlib import Path

import pytest

from framekiln.webhooks.errors import UnknownTopic
from framekiln.webhooks.outbox import event_body
from framekiln.webhooks.topics import PATTERNS, TOPICS, check_patterns, find_topic, patterns_for

PAGE = Path(__file__).resolve().parents[3] / "docs" / "api" / "webhooks.md"
ROW = re.compile(r"^\| `([a-z_.]+\.[a-z_]+)` \| (.+) \|$", re.MULTILINE)

RENDER_FIELDS = (
    "id status created_at completed_at failed_at width height fps byte_size duration_ms md5"
    " metadata download_url expires_at error"
)
FILE_FIELDS = "id type status filename byte_size md5 mime_type width height expires_at"


def test_the_documented_table_of_topics_is_complete() -> None:
    documented = dict(ROW.findall(PAGE.read_text("utf-8")))
    assert documented == {topic.name: topic.meaning for topic in TOPICS.values()}


def test_the_specified_topics_exist() -> None:
    known = {
        "render": "created pending rendering completed failed",
        "file": "created uploading processing ready failed updated receiving sealed",
        "pipeline_run": "created started retried completed failed filtered cancelled",
        "pipeline_step": "started progress waiting_external waiting_review retrying completed"
        " failed skipped cancelled",
        "pipeline_review": "decided expired",
        "webhook": "test",
        **dict.fromkeys(
            ("image_file", "isobmff_file", "isobmff_track", "unprocessed_file"), "created"
        ),
    }
    for family, names in known.items():
        for name in names.split():
            assert f"{family}.{name}" in TOPICS


@pytest.mark.parametrize(("family", "fields"), [("render", RENDER_FIELDS), ("file", FILE_FIELDS)])
def test_samples_have_the_documented_fields(family: str, fields: str) -> None:
    samples = [topic.sample for topic in TOPICS.values() if topic.family == family]
    assert len(samples) >= 5
    for sample in samples:
        assert " ".join(sample) == fields


def test_samples_of_one_family_have_one_shape() -> None:
    shapes: dict[str, set[tuple[str, ...]]] = {}
    for topic in TOPICS.values():
        shapes.setdefault(topic.family, set()).add(tuple(topic.sample))
    assert {family: len(found) for family, found in shapes.items()} == dict.fromkeys(shapes, 1)


def test_a_body_is_ascii_json_of_the_same_value() -> None:
    data = {"title": "Käse \u2028 \0 \ud800"}
    body = event_body("render.created", data)
    assert body.isascii()
    assert json.loads(body) == {"topic": "render.created", "data": data}
    with pytest.raises(ValueError, match="JSON"):
        event_body("render.created", {"fps": float("nan")})


def test_a_topic_matches_itself_its_family_and_the_wildcard() -> None:
    assert patterns_for("pipeline_run.failed") == ["pipeline_run.failed", "pipeline_run.*", "*"]
    for topic in TOPICS:
        assert set(patterns_for(topic)) <= PATTERNS


def test_patterns_are_kept_once_each() -> None:
    assert check_patterns(["file.*", "*", "file.*"]) == ("file.*", "*")


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("render.complete", "did you mean render.completed"),
        ("renders.*", "did you mean render"),
        ("render", "did you mean"),
        ("pipeline_run.succeeded", "did you mean pipeline_run.completed"),
        ("pipeline_run.running", "did you mean pipeline_run.started"),
        ("file.complete", "did you mean file.ready"),
        ("*.*", "webhook-topics"),
        ("x" * 5000, "webhook-topics"),
    ],
)
def test_a_wrong_pattern_is_named_with_the_nearest(pattern: str, hint: str) -> None:
    with pytest.raises(UnknownTopic, match=re.escape(hint)) as caught:
        check_patterns(["*", pattern])
    assert caught.value.details == {"field": "events.1"}
    assert len(caught.value.message) < 300


def test_a_pattern_is_no_topic() -> None:
    assert find_topic("webhook.test").sample.keys() == {"id", "org_id"}
    with pytest.raises(UnknownTopic):
        find_topic("render.*")
