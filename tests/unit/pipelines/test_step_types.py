"""The settings of every step type: defaults, bounds, what is refused."""

from typing import Any

import pytest

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.normal_form import normal_form
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.steps import STEP_TYPES
from tests.unit.pipelines.definitions import ENDPOINT_ID


def settings_of(kind: str, settings: Any) -> Any:
    answer = validate({"steps": {"a": {"type": kind, "with": settings}}}, STEP_TYPES)
    if isinstance(answer, Definition):
        return normal_form(answer)["steps"]["a"]["with"]
    return [(issue.path.removeprefix("steps.a.with."), issue.code.value) for issue in answer]


@pytest.mark.spec("2.11")
def test_the_step_types_are_those_documented() -> None:
    assert {name for name, kind in STEP_TYPES.items() if kind.name == name} == {
        "probe",
        "transcribe",
        "sample_frames",
        "detect_scenes",
        "redact_render",
        "publish",
        "endpoint",
        "filter",
        "review",
    }
    assert [name for name, kind in STEP_TYPES.items() if kind.takes_predicate] == ["filter"]


@pytest.mark.parametrize(
    ("kind", "given", "recorded"),
    [
        ("sample_frames", {}, {"every_ms": 1000}),
        ("sample_frames", {"every_ms": 100}, {"every_ms": 100}),
        ("sample_frames", {"every_ms": 600_000.0}, {"every_ms": 600_000}),
        ("detect_scenes", {}, {"threshold": 0.3}),
        ("detect_scenes", {"threshold": 0.01}, {"threshold": 0.01}),
        ("detect_scenes", {"threshold": 1.0}, {"threshold": 1}),
        (
            "endpoint",
            {"endpoint_id": ENDPOINT_ID},
            {"endpoint_id": ENDPOINT_ID, "max_concurrency": 8},
        ),
        (
            "endpoint",
            {"endpoint_id": ENDPOINT_ID, "max_concurrency": 1024},
            {"endpoint_id": ENDPOINT_ID, "max_concurrency": 1024},
        ),
        ("review", {}, {"expires_after_ms": 604_800_000, "on_expiry": "fail"}),
        (
            "review",
            {"instructions": "x" * 2000, "expires_after_ms": 60_000, "on_expiry": "approve"},
            {"instructions": "x" * 2000, "expires_after_ms": 60_000, "on_expiry": "approve"},
        ),
        ("redact_render", {"kinds": ["plate", "face"]}, {"kinds": ["face", "plate"]}),
        ("publish", {}, {"formats": ["hls"], "source": "original"}),
        (
            "publish",
            {"formats": ["hls", "dash"], "source": "original"},
            {"formats": ["dash", "hls"], "source": "original"},
        ),
    ],
)
@pytest.mark.spec("2.11")
def test_settings_are_recorded(kind: str, given: Any, recorded: Any) -> None:
    assert settings_of(kind, given) == recorded


@pytest.mark.parametrize(
    ("kind", "given", "path", "code"),
    [
        ("sample_frames", {"every_ms": 99}, "every_ms", "out_of_range"),
        ("sample_frames", {"every_ms": 600_001}, "every_ms", "out_of_range"),
        ("sample_frames", {"every_ms": None}, "every_ms", "type"),
        ("sample_frames", {"every_ms": "1000"}, "every_ms", "type"),
        ("sample_frames", {"every_ms": float("inf")}, "every_ms", "out_of_range"),
        ("detect_scenes", {"threshold": 0.009}, "threshold", "out_of_range"),
        ("detect_scenes", {"threshold": 1.01}, "threshold", "out_of_range"),
        ("detect_scenes", {"threshold": True}, "threshold", "type"),
        ("endpoint", {}, "endpoint_id", "required"),
        ("endpoint", {"endpoint_id": "x"}, "endpoint_id", "pattern"),
        ("endpoint", {"endpoint_id": 7}, "endpoint_id", "type"),
        (
            "endpoint",
            {"endpoint_id": ENDPOINT_ID, "max_concurrency": 0},
            "max_concurrency",
            "out_of_range",
        ),
        (
            "endpoint",
            {"endpoint_id": ENDPOINT_ID, "max_concurrency": 1025},
            "max_concurrency",
            "out_of_range",
        ),
        ("review", {"instructions": ""}, "instructions", "empty"),
        ("review", {"instructions": "x" * 2001}, "instructions", "too_long"),
        ("review", {"instructions": "half \ud83d"}, "instructions", "pattern"),
        ("review", {"expires_after_ms": 59_999}, "expires_after_ms", "out_of_range"),
        ("review", {"expires_after_ms": 2_592_000_001}, "expires_after_ms", "out_of_range"),
        ("review", {"on_expiry": "skip"}, "on_expiry", "unknown_value"),
        ("redact_render", {}, "kinds", "required"),
        ("redact_render", {"kinds": []}, "kinds", "empty"),
        ("redact_render", {"kinds": [f"k{n}" for n in range(33)]}, "kinds", "too_many"),
        ("redact_render", {"kinds": ["face", "face"]}, "kinds.1", "duplicate"),
        ("redact_render", {"kinds": ["face", ""]}, "kinds.1", "empty"),
        ("redact_render", {"kinds": ["face"], "title": "x"}, "title", "unknown_field"),
        ("publish", {"formats": ["mp4"]}, "formats.0", "unknown_value"),
        ("publish", {"formats": ["hls", "hls"]}, "formats.1", "duplicate"),
        ("publish", {"formats": "hls"}, "formats", "type"),
        ("publish", {"source": "blurred"}, "source", "unknown_value"),
    ],
)
@pytest.mark.spec("8")
def test_invalid_settings_are_reported(kind: str, given: Any, path: str, code: str) -> None:
    assert settings_of(kind, given) == [(path, code)]
