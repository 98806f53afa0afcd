"""Segments are made when somebody asks for them: once, soon, and nothing that lies between."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path

import pytest

from framekiln.kit.confined.cage import strongest_cage
from framekiln.kit.confined.limits import Limits
from framekiln.kit.confined.order import Order
from framekiln.kit.confined.run import run_in, run_warm
from framekiln.kit.confined.warm import WarmCage, open_room
from framekiln.media.segmenting.renditions import Outline
from framekiln.media.segmenting.segments import SEGMENT_TASK, TASKS_MODULE
from framekiln.media.segmenting.source_outline import outline_of
from framekiln.playback import store
from framekiln.playback.model import MediaNotReady, Source
from framekiln.playback.service import Playback
from tests.contract.conftest import TEMPLATE
from tests.support.app import Kiln, open_kiln
from tests.support.clips import Clip, make_clip
from tests.support.clock import SettableClock
from tests.support.jobs import eventually
from tests.support.patience import PATIENCE_S
from tests.support.playing import ClipServer, Player, open_playing_kiln
from tests.support.postgres import PostgresServer
from tests.support.uploads import media_worker, processed, upload_file

# Nine segments.
CLIP = Clip(duration_s=Fraction(31))
LIMITS = Limits(cpu_s=120, memory_bytes=2 << 30, file_bytes=16 << 20, wall_s=PATIENCE_S)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClipServer]:
    folder = tmp_path_factory.mktemp("clips")
    path = make_clip(folder / "clip.mp4", CLIP)
    strange = make_clip(folder / "strange.webm", Clip(video_codec="libvpx", audio_codec="libopus"))
    # A source of its own for each test.
    files = {f"{n}.mp4": path for n in range(6)} | {"strange.webm": strange}
    with ClipServer(files) as server:
        yield server


@pytest.fixture(scope="module")
async def kiln(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, server: ClipServer
) -> AsyncIterator[Kiln]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_playing_kiln(postgres, folder, server, template=TEMPLATE) as kiln:
        yield kiln


async def opened(player: Player) -> tuple[Source, Outline]:
    organization_id = (
        await player.kiln.services.identity.authenticate(player.kiln.key)
    ).organization.id
    return await player.kiln.services.playback.open(organization_id, player.url)


async def made(player: Player, rendition: str) -> set[int]:
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


async def idle(kiln: Kiln) -> None:
    async def is_idle() -> bool:
        jobs = kiln.services.jobs
        return not any([await jobs.list_jobs(queue=queue) for queue in ("playback", "ahead")])

    await eventually(is_idle)


async def test_nothing_between_is_made(kiln: Kiln, server: ClipServer) -> None:
    player = Player(kiln, server.address("0.mp4"))
    assert (await player.get("scrub/7.m4s")).status_code == 200
    await idle(kiln)
    # And the two after it, before anybody asks.
    assert await made(player, "scrub") == {7, 8, 9}
    assert await made(player, "high") == set()


async def test_a_manifest_has_the_start_made(kiln: Kiln, server: ClipServer) -> None:
    player = Player(kiln, server.address("1.mp4"))
    assert (await player.get("manifest.m3u8")).status_code == 200
    await idle(kiln)
    assert await made(player, "high") == {1}
    assert await made(player, "audio") == {1}
    assert await made(player, "scrub") == set()


async def test_an_uploaded_video_is_looked_at_before_anybody_plays_it(
    kiln: Kiln, tmp_path: Path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1)))
    async with media_worker(kiln.services):
        file = await upload_file(kiln, clip.read_bytes())
        await processed(kiln, file["id"])

        async def is_looked_at() -> bool:
            async with kiln.services.database.connection() as connection:
                found = await connection.execute(
                    "SELECT status FROM playback_source WHERE address LIKE %s",
                    (f"file-id:{file['id']}@%",),
                )
                return [row["status"] for row in await found.fetchall()] == ["ready"]

        await eventually(is_looked_at)
    await idle(kiln)
    assert (await Player(kiln, f"file-id:{file['id']}").manifest())["durationMs"] == 1000


async def test_a_manifest_has_no_pictures_encoded(kiln: Kiln, server: ClipServer) -> None:
    """Which size a player wants is known only when it asks."""
    player = Player(kiln, server.address("strange.webm"))
    assert (await player.get("manifest.m3u8")).status_code == 200
    await idle(kiln)
    assert await made(player, "high") == set()
    assert await made(player, "audio") == {1}


async def test_many_ask_one_makes(kiln: Kiln, server: ClipServer) -> None:
    player = Player(kiln, server.address("2.mp4"))
    answers = await asyncio.gather(*(player.get("scrub/2.m4s") for _ in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    assert len({answer.headers["etag"] for answer in answers}) == 1
    assert server.times_asked("2.mp4") == 1
    again = await player.get("scrub/2.m4s")
    assert again.content == answers[0].content


async def test_work_belongs_to_one(kiln: Kiln) -> None:
    database = kiln.services.database
    async with (
        store.if_free(database, "some work") as is_ours,
        store.if_free(database, "some work") as is_theirs,
    ):
        assert (is_ours, is_theirs) == (True, False)
    async with store.if_free(database, "some work") as is_ours:
        assert is_ours


async def test_waiting_ends(postgres: PostgresServer, server: ClipServer, tmp_path: Path) -> None:
    """Nobody works here, so nothing is ever made."""
    async with open_kiln(postgres, tmp_path, template=TEMPLATE) as kiln:
        services = kiln.services
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
        organization_id = (await services.identity.authenticate(kiln.key)).organization.id
        for _ in range(2):
            with pytest.raises(MediaNotReady) as caught:
                await playback.open(organization_id, server.address("3.mp4"))
            assert caught.value.details["retry_after_s"] > 0
        # The second time the same source is waited for.
        assert len(await services.jobs.list_jobs(queue="playback")) == 1


@pytest.fixture
def later(kiln: Kiln, clock: SettableClock) -> Playback:
    """The same service, by a clock that the test moves."""
    services = kiln.services
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


async def stored(kiln: Kiln, source: Source, rendition: str) -> int:
    prefix = f"org/{source.organization_id}/playback/{source.id}/{rendition}"
    return len([blob async for blob in kiln.services.blobs.list(prefix)])


async def test_what_nobody_plays_is_removed(
    kiln: Kiln, server: ClipServer, later: Playback, clock: SettableClock
) -> None:
    player = Player(kiln, server.address("4.mp4"))
    await player.bytes("scrub/9.m4s")
    await idle(kiln)
    source, _ = await opened(player)
    await later.remove_unused()
    assert await stored(kiln, source, "scrub") == 1
    clock.advance(timedelta(days=2))
    assert await later.remove_unused() > 0
    assert await stored(kiln, source, "scrub") == 0
    # And it plays again for whoever comes then.
    assert (await opened(player))[0].id != source.id
    assert await player.bytes("scrub/9.m4s")


async def test_what_was_made_goes_with_its_source(
    kiln: Kiln, server: ClipServer, later: Playback, clock: SettableClock
) -> None:
    player = Player(kiln, server.address("5.mp4"))
    await player.bytes("scrub/9.m4s")
    await idle(kiln)
    source, _ = await opened(player)
    assert source.tracks.pictures_key is not None
    await kiln.services.blobs.delete(source.tracks.pictures_key)
    clock.advance(timedelta(minutes=20))
    await later.remove_unused()
    assert await stored(kiln, source, "scrub") == 0


@pytest.mark.parametrize("rendition_id", ["high", "scrub", "audio"])
async def test_forked_and_started_children_make_the_same(rendition_id: str) -> None:
    with open_room() as room:
        source = make_clip(room.sources / "clip.mp4", Clip(duration_s=Fraction(4)))
        source.chmod(0o644)
        rendition = outline_of(source, source).find(rendition_id)
        assert rendition is not None
        warm = WarmCage(strongest_cage(), room, [TASKS_MODULE])
        assert await warm.warm_up()
        args = {"source": str(source), "rendition": rendition.to_json(), "number": 2, "out": "made"}
        made = []
        for carry_out in (partial(run_warm, warm), partial(run_in, warm.cage)):
            folder = Path(tempfile.mkdtemp(dir=room.work))
            await carry_out(Order(SEGMENT_TASK, args, LIMITS, folder, (source,)))
            made.append((folder / "made").read_bytes())
        await warm.close()
    assert made[0] == made[1]
    assert len(made[0]) > 1000
