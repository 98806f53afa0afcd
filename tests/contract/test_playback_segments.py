"""Segments are made when somebody asks for them: once, soon, and nothing that lies between."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from framekiln.db.pool import MAX_CONNECTIONS
from framekiln.files.jobs import SOURCES_QUEUE
from framekiln.jobs.model import JobStatus
from framekiln.kit.confined.limits import ResourceLimits
from framekiln.kit.confined.order import ConfinedOrder
from framekiln.kit.confined.run import run_in_sandbox, run_warm
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.confined.warm_sandbox import WarmSandbox, open_sandbox_folders
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import Outline
from framekiln.media.segments.tasks import SEGMENT_TASK, TASKS_MODULE
from framekiln.playback import store
from framekiln.playback.errors import MediaNotReady
from framekiln.playback.jobs import FETCH_SOURCE, probe_job
from framekiln.playback.model import NO_TRACKS, PlaybackSource, SourceId, SourceStatus
from framekiln.playback.service import Playback
from framekiln.worker.pools import worker_pools
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.clips import Clip, make_clip
from tests.support.clock import SettableClock
from tests.support.jobs import wait_until
from tests.support.playback import CONCURRENCY, ClipServer, PlayerClient, open_playback_app
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S
from tests.support.unusual_clips import ClipPart, mux_parts
from tests.support.uploads import running_file_worker, upload_file, wait_processed

# Nine segments.
CLIP = Clip(fps=Fraction(10), width=160, height=120, duration_s=Fraction(31), keyframe_every=10)
LIMITS = ResourceLimits(cpu_s=120, memory_bytes=2 << 30, file_bytes=16 << 20, wall_s=TIMEOUT_S)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipServer]:
    folder = tmp_path_factory.mktemp("clips")
    path = make_clip(folder / "clip.mp4", CLIP)
    strange = make_clip(folder / "strange.webm", Clip(video_codec="libvpx", audio_codec="libopus"))
    # A source of its own for each test.
    names = [*(f"{n}.mp4" for n in range(8)), *(f"slow-{n}.mp4" for n in range(CONCURRENCY))]
    files = dict.fromkeys(names, path) | {"strange.webm": strange}
    with ClipServer(files) as server:
        yield server


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, server: ClipServer
) -> AsyncIterator[AppHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_playback_app(postgres, folder, server, template=TEMPLATE) as app:
        yield app


async def organization_of(app: AppHarness) -> OrganizationId:
    return (await app.services.identity.authenticate(app.key)).organization.id


async def opened(player: PlayerClient) -> tuple[PlaybackSource, Outline]:
    organization_id = await organization_of(player.kiln)
    return await player.kiln.services.playback.open(organization_id, player.url)


async def made(player: PlayerClient, rendition: str) -> set[int]:
    """The numbers of the segments that are there."""
    source, outline = await opened(player)
    found = outline.find(rendition)
    assert found is not None
    async with player.kiln.services.database.connection() as connection:
        segments = await store.find_segments(
            connection, source.id, rendition, range(1, found.segment_count + 1)
        )
    assert all(each.failure is None for each in segments)
    return {each.number for each in segments}


async def idle(app: AppHarness) -> None:
    async def is_idle() -> bool:
        jobs = app.services.jobs
        # In this order: a download queues a probe before it ends.
        queues = ("sources", "playback", "ahead")
        return not any([await jobs.list_jobs(queue=queue) for queue in queues])

    await wait_until(is_idle)


async def test_only_requested_segments_are_made(app: AppHarness, server: ClipServer) -> None:
    player = PlayerClient(app, server.address("0.mp4"))
    assert (await player.get("scrub/7.m4s")).status_code == 200
    await idle(app)
    # And the two after it, before anybody asks.
    assert await made(player, "scrub") == {7, 8, 9}
    assert await made(player, "high") == set()


async def test_a_manifest_request_makes_the_first_segments(
    app: AppHarness, server: ClipServer
) -> None:
    player = PlayerClient(app, server.address("1.mp4"))
    assert (await player.get("manifest.m3u8")).status_code == 200
    await idle(app)
    assert await made(player, "high") == {1}
    assert await made(player, "audio") == {1}
    assert await made(player, "scrub") == set()


async def test_an_uploaded_video_is_probed_before_it_is_played(
    app: AppHarness, tmp_path: Path
) -> None:
    film = make_clip(tmp_path / "film.mp4", Clip(duration_s=Fraction(1)))
    parts = [ClipPart(film), ClipPart(film, 1, language="ger")]
    clip = mux_parts(tmp_path / "clip.mp4", parts)
    async with running_file_worker(app.services):
        file = await upload_file(app, clip.read_bytes())
        await wait_processed(app, file["id"])

        async def is_probed() -> bool:
            async with app.services.database.connection() as connection:
                found = await connection.execute(
                    "SELECT status FROM playback_source WHERE address LIKE %s",
                    (f"file-id:{file['id']}@%",),
                )
                return [row["status"] for row in await found.fetchall()] == ["ready"]

        await wait_until(is_probed)
    await idle(app)
    manifest = await PlayerClient(app, f"file-id:{file['id']}").manifest()
    (sound,) = manifest["audioRenditions"]
    assert (manifest["durationMs"], sound["language"]) == (1000, "de")
    outline = make_outline(clip, clip)
    assert outline.audio_rendition is not None
    assert outline.audio_rendition.language == "de"


async def test_a_manifest_request_encodes_no_video(app: AppHarness, server: ClipServer) -> None:
    """Which size a player wants is known only when it asks."""
    player = PlayerClient(app, server.address("strange.webm"))
    assert (await player.get("manifest.m3u8")).status_code == 200
    await idle(app)
    assert await made(player, "high") == set()
    assert await made(player, "audio") == {1}


async def test_concurrent_requests_make_a_segment_once(app: AppHarness, server: ClipServer) -> None:
    player = PlayerClient(app, server.address("2.mp4"))
    answers = await asyncio.gather(*(player.get("scrub/2.m4s") for _ in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len({answer.headers["etag"] for answer in answers}) == 1
    assert server.request_count("2.mp4") == 1
    again = await player.get("scrub/2.m4s")
    assert again.content == answers[0].content


async def test_downloads_leave_the_database_connections_to_others(
    app: AppHarness, server: ClipServer
) -> None:
    """Each job kept one of the eight connections while it waited for a slow server."""
    slow = [f"slow-{number}.mp4" for number in range(CONCURRENCY)]
    with server.holding(*slow):
        players = [PlayerClient(app, server.address(name)) for name in slow]
        answers = [asyncio.create_task(player.get("manifest.json")) for player in players]

        async def are_fetched() -> bool:
            return all(server.request_count(name) for name in slow)

        await wait_until(are_fetched)
        async with AsyncExitStack() as stack:
            # All locks of the process share the remaining one.
            for _ in range(MAX_CONNECTIONS - 1):
                await stack.enter_async_context(app.services.database.connection())
    await asyncio.gather(*answers)


async def test_slow_servers_of_two_organizations_do_not_stop_playback_for_others(
    app: AppHarness, server: ClipServer
) -> None:
    """A download kept one of the few slots for up to ten minutes."""
    playback = app.services.playback
    strangers = [await organization_of(await app.other_organization()) for _ in range(2)]
    pools = worker_pools(["playback"], concurrency=CONCURRENCY, slots=app.services.settings.slots)
    [slots] = [pool.concurrency for pool in pools if pool.queues == (SOURCES_QUEUE,)]
    slow = [f"never-{number}.mp4" for number in range(slots + 3)]

    async def doing() -> int:
        doing = JobStatus.DOING
        return len(await app.services.jobs.list_jobs(kind=FETCH_SOURCE, status=doing))

    async def has_no_slot_for_one() -> bool:
        return await doing() >= slots

    async def has_one_more() -> bool:
        return await doing() > slots

    with server.holding(*slow):
        waiting = []
        for stranger, is_taken in zip(strangers, (has_no_slot_for_one, has_one_more), strict=True):
            opening = [playback.open(stranger, server.address(name)) for name in slow]
            waiting += [asyncio.create_task(each) for each in opening]
            await wait_until(is_taken)
        player = PlayerClient(app, server.address("6.mp4"))
        assert (await player.get("scrub/9.m4s")).status_code == 200
    await asyncio.gather(*waiting, return_exceptions=True)
    await idle(app)


async def test_a_probe_queued_by_an_older_version_downloads_its_source_first(
    app: AppHarness, server: ClipServer
) -> None:
    player = PlayerClient(app, server.address("7.mp4"))
    organization_id = await organization_of(app)
    services = app.services
    added = PlaybackSource(
        id=SourceId(new_uuid()),
        organization_id=organization_id,
        address=player.url,
        status=SourceStatus.LOOKING,
        tracks=NO_TRACKS,
        outline=None,
        failure=None,
        created_at=services.clock.now(),
        changed_at=services.clock.now(),
        expires_at=None,
        used_at=services.clock.now(),
    )
    async with services.database.transaction() as connection:
        await store.insert(connection, added)
        await services.jobs.defer(connection, probe_job(added))
    await idle(app)
    source, _ = await opened(player)
    assert (source.id, source.status) == (added.id, SourceStatus.READY)


async def test_waiting_for_a_segment_times_out(
    postgres: PostgresServer, server: ClipServer, tmp_path: Path
) -> None:
    """Nobody works here, so nothing is ever made."""
    async with open_app(postgres, tmp_path, template=TEMPLATE) as app:
        services = app.services
        playback = Playback(
            services.database,
            files=services.files,
            renders=services.renders,
            jobs=services.jobs,
            blobs=services.blobs,
            notifications=services.notifications,
            clock=services.clock,
            wait_s=0.1,
        )
        organization_id = (await services.identity.authenticate(app.key)).organization.id
        for _ in range(2):
            with pytest.raises(MediaNotReady) as caught:
                await playback.open(organization_id, server.address("3.mp4"))
            assert caught.value.details["retry_after_s"] > 0
        # The second time the same source is waited for.
        assert len(await services.jobs.list_jobs(queue="sources")) == 1


@pytest.fixture
def later(app: AppHarness, clock: SettableClock) -> Playback:
    """The same service, by a clock that the test moves."""
    services = app.services
    clock.set(services.clock.now())
    return Playback(
        services.database,
        files=services.files,
        renders=services.renders,
        jobs=services.jobs,
        blobs=services.blobs,
        notifications=services.notifications,
        clock=clock,
    )


async def stored(app: AppHarness, source: PlaybackSource, rendition: str) -> int:
    prefix = f"org/{source.organization_id}/playback/{source.id}/{rendition}"
    return len([blob async for blob in app.services.blobs.list(prefix)])


async def test_unused_sources_are_removed(
    app: AppHarness, server: ClipServer, later: Playback, clock: SettableClock
) -> None:
    player = PlayerClient(app, server.address("4.mp4"))
    await player.bytes("scrub/9.m4s")
    await idle(app)
    source, _ = await opened(player)
    await later.remove_unused()
    assert await stored(app, source, "scrub") == 1
    clock.advance(timedelta(days=2))
    assert await later.remove_unused() > 0
    assert await stored(app, source, "scrub") == 0
    # And it plays again for whoever comes then.
    assert (await opened(player))[0].id != source.id
    assert await player.bytes("scrub/9.m4s")


async def test_segments_are_removed_with_their_source(
    app: AppHarness, server: ClipServer, later: Playback, clock: SettableClock
) -> None:
    player = PlayerClient(app, server.address("5.mp4"))
    await player.bytes("scrub/9.m4s")
    await idle(app)
    source, _ = await opened(player)
    assert source.tracks.pictures_key is not None
    await app.services.blobs.delete(source.tracks.pictures_key)
    clock.advance(timedelta(minutes=20))
    await later.remove_unused()
    assert await stored(app, source, "scrub") == 0


@pytest.mark.parametrize("rendition_id", ["high", "scrub", "audio"])
async def test_forked_and_started_children_make_the_same(rendition_id: str) -> None:
    with open_sandbox_folders() as folders:
        clip = Clip(width=160, height=120, duration_s=Fraction(4))
        source = make_clip(folders.sources / "clip.mp4", clip)
        source.chmod(0o644)
        rendition = make_outline(source, source).find(rendition_id)
        assert rendition is not None
        warm = WarmSandbox(strongest_sandbox(), folders, [TASKS_MODULE])
        assert await warm.warm_up()
        args = {"source": str(source), "rendition": rendition.to_json(), "number": 2, "out": "made"}
        made = []
        for carry_out in (partial(run_warm, warm), partial(run_in_sandbox, warm.sandbox)):
            folder = Path(tempfile.mkdtemp(dir=folders.work))
            await carry_out(ConfinedOrder(SEGMENT_TASK, args, LIMITS, folder, (source,)))
            made.append((folder / "made").read_bytes())
        await warm.close()
    assert made[0] == made[1]
    assert len(made[0]) > 1000
