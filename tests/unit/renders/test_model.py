"""What can be said of a render without a database."""

import json
from fractions import Fraction

import pytest

from framekiln.capture.page import FrameSize
from framekiln.engine.audio_clips import PageAudioClip
from framekiln.jobs.failures import Failure
from framekiln.kit.ids import OrganizationId, RenderId, new_uuid
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.images.stills import JpegFormat, PngFormat, WebpFormat
from framekiln.renders.model import (
    CHANGES,
    RenderProgress,
    RenderStatus,
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
from framekiln.renders.plan import RenderPlan
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
def test_progress_is_whole_only_when_complete(
    status: RenderStatus, done: int, count: int, fraction: float
) -> None:
    assert RenderProgress(status, done, count, None).fraction == pytest.approx(fraction)


def test_a_failure_keeps_its_words() -> None:
    progress = RenderProgress(S.FAILED, 0, 0, Failure("page_threw", "no"))
    assert progress.failure == Failure("page_threw", "no")


def test_blobs_of_a_render_are_under_its_organization() -> None:
    organization, render = OrganizationId(new_uuid()), RenderId(new_uuid())
    place = f"org/{organization}/renders/{render}"
    assert render_prefix(organization, render) == place
    assert source_key(organization, render, is_bundle=False) == f"{place}/composition.html"
    assert source_key(organization, render, is_bundle=True) == f"{place}/bundle.tar.gz"


@pytest.mark.parametrize("status", S)
def test_a_render_is_active_between_its_start_and_its_end(status: RenderStatus) -> None:
    assert status.is_active == (status not in (S.CREATED, S.COMPLETE, S.FAILED))
    assert status.is_terminal == (status in (S.COMPLETE, S.FAILED))


@pytest.mark.parametrize(
    "output",
    [
        *(FilmFormat(container) for container in FILM_CONTAINERS),
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


def test_a_plan_is_read_back_as_it_was_written() -> None:
    window = PageAudioClip("ef-audio", "https://a.example/x", None, 0.5, 900.25, 100.0, 0.8)
    timeline = Timeline(Fraction(30000, 1001), 27)
    plan = RenderPlan(FrameSize(322, 182), timeline, sounds=(window,), warnings=("rounded",))
    assert RenderPlan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
