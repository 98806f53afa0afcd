"""What can be said of a render without a database."""

import json
from fractions import Fraction

import pytest

from framekiln.capture.page import FrameSize
from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.audio_clips import PageAudioClip
from framekiln.engine.film_plan import FilmPlan
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.kit.warning_text import WarningText
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.images.stills import JpegFormat, PngFormat, WebpFormat
from framekiln.renders.model import (
    CHANGES,
    RenderProgress,
    RenderStatus,
    SourceKind,
    render_prefix,
    source_key,
    states_before,
)
from framekiln.renders.output import (
    FilmFormat,
    OutputFormat,
    container_of,
    media_type_of,
    output_as_json,
    output_from_json,
)
from framekiln.timeline import Timeline

S = RenderStatus


@pytest.mark.parametrize("after", S)
def test_states_before_inverts_the_table_of_changes(after: RenderStatus) -> None:
    assert states_before(after) == [str(state) for state in S if after in CHANGES[state]]


@pytest.mark.parametrize(
    ("status", "done", "count", "fraction"),
    [
        (S.CREATED, 0, 0, 0.0),
        (S.RENDERING, 0, 30, 0.0),
        (S.RENDERING, 15, 30, 0.5),
        (S.RENDERING, 30, 30, 0.99),
        (S.RECOVERING, 40, 30, 0.99),
        (S.COMPLETE, 0, 0, 1.0),
        (S.FAILED, 3, 30, 0.1),
    ],
)
def test_progress_is_one_only_when_complete(
    status: RenderStatus, done: int, count: int, fraction: float
) -> None:
    assert RenderProgress(status, done, count, None).fraction == pytest.approx(fraction)


def test_a_failure_keeps_its_message() -> None:
    progress = RenderProgress(S.FAILED, 0, 0, Failure("page_threw", "no"))
    assert progress.failure == Failure("page_threw", "no")


def test_blobs_of_a_render_are_under_its_organization() -> None:
    organization, render = OrganizationId(new_uuid()), RenderId(new_uuid())
    place = f"org/{organization}/renders/{render}"
    assert render_prefix(organization, render) == place
    assert source_key(organization, render, SourceKind.HTML) == f"{place}/composition.html"
    assert source_key(organization, render, SourceKind.BUNDLE) == f"{place}/bundle.tar.gz"


@pytest.mark.parametrize("status", S)
def test_a_render_is_active_between_its_start_and_its_end(status: RenderStatus) -> None:
    assert status.is_active == (status not in (S.CREATED, S.COMPLETE, S.FAILED))
    assert status.is_terminal == (status in (S.COMPLETE, S.FAILED))


@pytest.mark.parametrize(
    "output",
    [
        *(FilmFormat(container) for container in FILM_CONTAINERS),
        FilmFormat("mp4", RenderPreset.DRAFT),
        JpegFormat(quality=7),
        PngFormat(compression=3, transparency=True),
        WebpFormat(quality=9, compression=6, transparency=True),
    ],
    ids=container_of,
)
def test_an_output_is_read_back_as_it_was_written(output: OutputFormat) -> None:
    written = output_as_json(output)
    assert written["container"] == container_of(output)
    assert output_from_json(written) == output
    ending = {"mov": "quicktime"}.get(container_of(output), container_of(output))
    assert media_type_of(output).endswith(f"/{ending}")


def test_the_standard_preset_is_not_written() -> None:
    """Digests of films from before there were presets stay valid."""
    assert output_as_json(FilmFormat("mp4")) == {"container": "mp4"}


def test_a_plan_is_read_back_as_it_was_written() -> None:
    window = PageAudioClip("ef-audio", "https://a.example/x", None, 0.5, 900.25, 100.0, 0.8)
    timeline = Timeline(Fraction(30000, 1001), 27)
    findings = {"rounded": {"path": "", "code": "adjusted", "message": "rounded"}}
    plan = FilmPlan(FrameSize(322, 182), timeline, (window,), ("rounded",), findings)
    assert FilmPlan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_a_plan_of_an_older_version_is_read() -> None:
    """Rows of earlier versions have these fields only."""
    stored = {"width_px": 2, "height_px": 4, "fps": "30", "frame_count": 3, "sounds": []}
    plan = FilmPlan.from_json({**stored, "warnings": ["rounded"]})
    assert plan == FilmPlan(FrameSize(2, 4), Timeline(Fraction(30), 3), (), ("rounded",))


def test_the_stored_form_of_a_plan_is_fixed() -> None:
    """Workers of the previous version read it while a deployment is under way."""
    timeline = Timeline(Fraction(30000, 1001), 27)
    clip = PageAudioClip("ef-audio", None, "f", 0, 900, 100, 0.8, gains=((0, 1.0),))
    rounded = WarningText("adjusted", "rounded")
    plan = FilmPlan(FrameSize(322, 182), timeline, (clip,), (rounded,), has_page_audio=True)
    assert json.dumps(plan.as_json()) == (
        '{"width_px": 322, "height_px": 182, "fps": "30000/1001", "frame_count": 27, "sounds":'
        ' [{"element": "ef-audio", "src": null, "file_id": "f", "start_ms": 0, "end_ms": 900,'
        ' "source_in_ms": 100, "gain": 0.8, "speed": 1.0, "keeps_pitch": true,'
        ' "gains": [[0, 1.0]]}], "warnings": ["rounded"], "warning_codes": {"rounded": "adjusted"},'
        ' "findings": {}, "has_page_sound": true,'
        ' "mastering": {"target_lufs": null, "has_limiter": true, "is_true_peak": false},'
        ' "sound_coding": "AAC", "sound_bits_per_s": 192000, "sound_digest": null,'
        ' "sound_sources": {}}'
    )
