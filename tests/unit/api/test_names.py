"""Names that consist of spaces are refused, whatever they name."""

from typing import Any

import pytest
from pydantic import ValidationError

from framekiln.api.unknown_fields import RequestBody
from framekiln.api.v1.client_reports import Feedback
from framekiln.api.v1.file_bodies import CreateFile, CreateTrack
from framekiln.api.v1.legacy_bodies import CreateIsobmff, CreateTyped
from framekiln.api.v1.stream_bodies import CreateStream
from framekiln.kit.blank_text import is_blank

FEEDBACK = {"category": "bug", "summary": "x", "details": ""}
TRACK = {"track_id": 1, "type": "audio", "duration_ms": 1, "codec_name": "aac", "byte_size": 1}
BODIES: list[tuple[type[RequestBody], dict[str, Any], str]] = [
    (CreateFile, {"filename": "a", "type": "video", "byte_size": 1}, "filename"),
    (CreateTyped, {"filename": "a", "byte_size": 1}, "filename"),
    (CreateIsobmff, {"filename": "a"}, "filename"),
    (CreateStream, {"filename": "a", "tracks": [{"track_id": 1, "type": "video"}]}, "filename"),
    (CreateTrack, TRACK, "codec_name"),
    (Feedback, FEEDBACK, "category"),
    (Feedback, FEEDBACK, "summary"),
]


@pytest.mark.parametrize(("model", "body", "name"), BODIES)
def test_a_name_of_spaces_is_refused(
    model: type[RequestBody], body: dict[str, Any], name: str
) -> None:
    model.model_validate(body)
    with pytest.raises(ValidationError) as refused:
        model.model_validate({**body, name: " \t\u00a0"})
    (issue,) = refused.value.errors()
    assert issue["loc"] == (name,)
    assert issue["msg"] == "must have at least one visible character"


@pytest.mark.parametrize(
    ("text", "is_invisible"),
    [
        ("", True),
        (" ", True),
        ("\u200b\n", True),
        (" a ", False),
        ("\u00e9", False),
        ("\u65e5", False),
    ],
)
def test_invisible_characters_make_no_name(text: str, is_invisible: bool) -> None:
    assert is_blank(text) is is_invisible
