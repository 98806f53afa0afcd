"""A step type that is added: one module, one line in the table, and all of the service has it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from framekiln.kit.media_kind import MediaKind
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.source import probe_source
from framekiln.pipelines.execution.handlers import RunStep
from framekiln.pipelines.execution.step_type import open_runners, step_table
from framekiln.pipelines.steps import STEP_TYPES
from framekiln.speech.configuration import SpeechSettings
from framekiln.transcripts.recognizer import Recognizer
from framekiln.worker.speech_handlers import step_services
from tests.contract.conftest import TEMPLATE
from tests.support import count_tracks_step
from tests.support.looks import decode_frames
from tests.support.pipelines import PipelineHarness, open_pipelines, step
from tests.support.playback import PlayerClient, running_playback_worker
from tests.support.postgres import PostgresServer
from tests.support.sample_sources import SOURCES
from tests.support.transcriptions import ready_file
from tests.support.uploads import FILES, create, running_file_worker, upload

pytestmark = pytest.mark.spec("2.11")

TABLE = step_table(
    *STEP_TYPES.values(),
    count_tracks_step.STEP_TYPE,
)


@pytest.fixture(scope="module")
async def extended(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[PipelineHarness]:
    """Pipelines with the longer table, and the runners that a worker opens from it."""
    folder = tmp_path_factory.mktemp("extended")
    async with open_pipelines(
        postgres, folder, template=TEMPLATE, runners={}, step_types=TABLE
    ) as pipelines:
        recognizer = Recognizer(SpeechSettings.of(pipelines.app.services.settings))
        parts = step_services(pipelines.app.services, recognizer)
        runners = open_runners(pipelines.services.step_types, parts)
        pipelines.handler = RunStep(pipelines.services.worker, runners)
        yield pipelines
        await recognizer.close()


def counting(*needs: str, **settings: Any) -> dict[str, Any]:
    return {"steps": {"look": step("probe"), "sum": step("count_tracks", *needs, with_=settings)}}


async def issues(pipelines: PipelineHarness, definition: Any) -> list[tuple[str, str]]:
    """Return what is wrong with a definition that is refused."""
    answer = await pipelines.post("pipelines", {"name": "refused", "definition": definition})
    assert answer.status_code == 422, answer.text
    return [(each["path"], each["code"]) for each in answer.json()["issues"]]


async def test_a_new_step_type_is_run_and_its_output_returned(extended: PipelineHarness) -> None:
    pipeline = await extended.create_pipeline(counting("look", track_type="audio"))
    run = await extended.start_run(pipeline)
    await extended.run_all_jobs()
    assert await extended.statuses(run) == {
        "": "succeeded",
        "look": "succeeded",
        "sum": "succeeded",
    }
    types = {each["step_key"]: each["type"] for each in (await extended.get_run(run))["steps"]}
    assert types["sum"] == "count_tracks"
    [shown] = (await extended.get(f"pipeline-runs/{run['id']}/outputs/sum"))["outputs"]
    assert shown["output"]["metadata"] == {"count": 1}


async def test_jobs_of_a_new_step_type_use_its_queue(extended: PipelineHarness) -> None:
    run = await extended.start_run(
        await extended.create_pipeline(counting("look", track_type="video"))
    )
    for job in await extended.take_jobs():
        await extended.run_job(job)
    queued = await extended.run_sql(
        """
        SELECT queue_name FROM procrastinate_jobs
        WHERE args ->> 'run_id' = %s AND status = 'todo'
        """,
        run["id"],
    )
    assert [job["queue_name"] for job in queued] == ["steps"]
    await extended.run_all_jobs()


async def test_settings_of_a_new_step_type_are_stored_with_defaults(
    extended: PipelineHarness,
) -> None:
    pipeline = await extended.create_pipeline(counting("look", track_type="audio"))
    stored = (await extended.get(f"pipelines/{pipeline}"))["version"]["definition"]
    assert stored["steps"]["sum"]["with"] == {"track_type": "audio", "maximum": 10}


@pytest.mark.parametrize(
    ("needs", "settings", "issue"),
    [
        (["look"], {}, ("steps.sum.with.track_type", "required")),
        (["look"], {"track_type": "text"}, ("steps.sum.with.track_type", "unknown_value")),
        (
            ["look"],
            {"track_type": "audio", "maximum": 0},
            ("steps.sum.with.maximum", "out_of_range"),
        ),
        (["look"], {"track_type": "audio", "most": 1}, ("steps.sum.with.most", "unknown_field")),
        ([], {"track_type": "audio"}, ("steps.sum.needs", "empty")),
    ],
)
async def test_issues_of_settings_and_of_its_own_check_have_paths(
    extended: PipelineHarness, needs: list[str], settings: Any, issue: tuple[str, str]
) -> None:
    assert await issues(extended, counting(*needs, **settings)) == [issue]


async def test_warnings_of_a_new_step_type_are_returned(extended: PipelineHarness) -> None:
    definition = counting("look", track_type="audio", maximum=1)
    made = await extended.create("pipelines", {"name": "warned", "definition": definition})
    assert [each["path"] for each in made["warnings"]] == ["steps.sum.with.maximum"]


async def test_a_step_type_that_is_not_in_the_table_is_unknown(
    pipelines: PipelineHarness,
) -> None:
    found = await issues(pipelines, counting("look", track_type="audio"))
    assert found == [("steps.sum.type", "unknown_type")]


PROBED = ("clip.mp4", "turned.mp4", "overstated.mkv", "covered.mp3")


@pytest.fixture(scope="module")
async def uploaded(
    extended: PipelineHarness, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[ProbedSource, str]]:
    """The facts of each source, and its id as an upload."""
    folder = tmp_path_factory.mktemp("sources")
    found = {}
    async with running_file_worker(extended.app.services):
        for name in PROBED:
            SOURCES[name](folder / name)
            file = await ready_file(extended.app, (folder / name).read_bytes())
            found[name] = (probe_source(folder / name), str(file["id"]))
    return found


async def output_of(pipelines: PipelineHarness, file_id: str, definition: dict[str, Any]) -> Any:
    """Run a pipeline of one step, and return the metadata of its output."""
    pipeline = await pipelines.create_pipeline({"steps": {"it": definition}})
    run = await pipelines.start_run(pipeline, file_id)
    await pipelines.tick()
    await pipelines.run_all_jobs()
    page = await pipelines.get(f"pipeline-runs/{run['id']}/outputs/it", limit=100)
    [output] = page["outputs"]
    return output["output"]["metadata"]


@pytest.mark.parametrize("name", PROBED)
async def test_a_probe_step_has_the_facts_of_the_source(
    extended: PipelineHarness, uploaded: dict[str, tuple[ProbedSource, str]], name: str
) -> None:
    facts, file_id = uploaded[name]
    metadata = await output_of(extended, file_id, step("probe"))
    assert facts.duration_s is not None
    assert metadata["duration_ms"] == round(facts.duration_s * 1000)
    assert (metadata["width"], metadata["height"]) == (facts.width_px, facts.height_px)
    assert metadata["has_video"] == (facts.kind is MediaKind.VIDEO)
    assert metadata["has_audio"] == facts.has_sound
    assert metadata["source"]["byte_size"] == facts.size_bytes


async def test_a_file_uploaded_as_tracks_is_published_as_a_manifest_that_plays(
    extended: PipelineHarness, uploaded: dict[str, tuple[ProbedSource, str]], tmp_path: Path
) -> None:
    """It has no original, so there is no `source_url`, which was a 404."""
    app = extended.app
    whole = f"{FILES}/{uploaded['clip.mp4'][1]}"
    index = (await app.client.get(f"{whole}/index")).json()
    path = f"{FILES}/{(await create(app, filename='tracks'))['id']}"
    for track in (await app.client.get(whole)).json()["tracks"]:
        data = (await app.client.get(f"{whole}/tracks/{track['track_id']}")).content
        names = ("track_id", "type", "codec_name", "duration_ms", "byte_size")
        await app.client.post(f"{path}/tracks", json={name: track[name] for name in names})
        await upload(app, f"{path}/tracks/{track['track_id']}/upload", data)
    index.pop("-1")
    ready = await app.client.post(f"{path}/index/upload", json=index)
    assert ready.json()["status"] == "ready", ready.text
    published = await output_of(extended, ready.json()["id"], step("publish"))
    assert published.keys() == {"file_id", "source", "hls_url"}
    [source_url] = parse_qs(urlsplit(published["hls_url"]).query)["url"]
    async with running_playback_worker(app.services):
        assert (await app.client.get(published["hls_url"])).status_code == 200
        player = PlayerClient(app, source_url)
        frames = decode_frames(await player.whole("high", tmp_path / "whole.mp4"))
    assert len(frames) == 10
