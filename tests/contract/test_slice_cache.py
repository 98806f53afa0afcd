"""What was filmed once is not filmed again: slices, sounds and whole films, by real workers.

Every decoded picture says which frame of which source it is, and the records of the slices say
which of them were made.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.capture.page import FrameSize
from framekiln.engine.film_plan import FilmPlan, FilmSlice, cut_slices
from framekiln.renders.cache import RETENTION, PartCache, RenderCache
from framekiln.renders.model import Render, TakenRenderSlice, render_prefix, slice_key
from framekiln.storage.keys import TrackedKey
from framekiln.timeline import Timeline
from tests.contract.conftest import TEMPLATE
from tests.support.app import AppHarness, open_app
from tests.support.clips import Clip, make_clip
from tests.support.clock import SettableClock
from tests.support.frame_codes import read_frame_code
from tests.support.looks import colour_at, decode_frames, packets_of
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S
from tests.support.unrecorded_blobs import delete_unrecorded
from tests.support.videos import VIDEOS, MediaServer, create_video, plain_config, video_of

FPS = 5
# Two slices, and the beginning of a third.
CLIP_S = 9
SLICE_FRAMES = 4 * FPS
SIZE, TIMELINE = FrameSize(160, 90), Timeline(Fraction(10), 80)
CYAN, PINK = "#00FFFF", "#FF00FF"


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    folder = tmp_path_factory.mktemp("media")
    clip = Clip(fps=Fraction(FPS), duration_s=Fraction(CLIP_S), keyframe_every=FPS)
    make_clip(folder / "clip.mp4", clip)
    (folder / "same.mp4").write_bytes((folder / "clip.mp4").read_bytes())
    make_clip(folder / "other.mp4", Clip(fps=Fraction(FPS), duration_s=Fraction(CLIP_S)))
    with MediaServer(folder) as running:
        yield running


@pytest.fixture(scope="module")
async def app(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory, host: MediaServer
) -> AsyncIterator[AppHarness]:
    folder = tmp_path_factory.mktemp("kiln")
    allow = frozenset({f"127.0.0.1:{host.port}"})
    async with open_app(
        postgres, folder, template=TEMPLATE, fetch_allow=allow, workers=1, reuse_pages=True
    ) as app:
        yield app


@pytest.fixture
async def fresh(app: AppHarness) -> AppHarness:
    """An organization for which nothing was made yet."""
    return await app.other_organization()


def greeting(host: MediaServer, colour: str = CYAN, *, file: str = "clip.mp4") -> dict[str, Any]:
    """A clip with a coloured box over its lower edge, in the first three seconds."""
    box = {
        "id": "hello",
        "type": "shape",
        "shape": {"kind": "rect", "color": colour},
        "position": {"x": 0, "y": 190},
        "size": {"width": 320, "height": 50},
        "trim": {"end": 3},
    }
    return {
        "dimensions": {"width": 320, "height": 240},
        "fps": FPS,
        "layers": [{"id": "clip", "type": "video", "file": host.url(f"/{file}")}, box],
    }


async def ended(app: AppHarness, config: dict[str, Any]) -> Render:
    """Post a config and return the render of its video when that is made."""
    video_id = await create_video(app, config)
    async with asyncio.timeout(TIMEOUT_S):
        while True:
            body = (await app.client.get(f"{VIDEOS}/{video_id}")).json()
            assert not body["is_failed"], body
            if body["is_ready"]:
                return (await video_of(app, video_id)).render
            await asyncio.sleep(0.1)


async def film(app: AppHarness, render: Render, path: Path) -> Path:
    assert render.result is not None
    await app.services.blobs.get_to_file(render.result.output_key, path)
    return path


async def filmed(app: AppHarness, render: Render) -> list[int]:
    """Return the numbers of the slices that were really made."""
    slices = await app.services.renders.finished_slices(render.id)
    return [each.number for each in slices if "reused" not in each.record]


async def cached_count(app: AppHarness) -> int:
    caller = await app.services.identity.authenticate(app.key)
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT count(*) AS n FROM kept_part WHERE organization_id = %s",
            (caller.organization.id,),
        )
        row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def queued_kinds(app: AppHarness, render: Render) -> list[str]:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT task_name FROM procrastinate_jobs WHERE args->>'render_id' = %s",
            (str(render.id),),
        )
        return [row["task_name"] for row in await cursor.fetchall()]


async def stored_slices(app: AppHarness, render: Render) -> list[str]:
    prefix = f"{render_prefix(render.organization_id, render.id)}/slices"
    return [each.key async for each in app.services.blobs.list(prefix)]


@dataclass(frozen=True)
class Variants:
    """An organization that made one film after the other; their boxes have other colours."""

    app: AppHarness
    cyan: Render
    pink: Render


@pytest.fixture(scope="module")
async def variants(app: AppHarness, host: MediaServer) -> Variants:
    """For tests that need nothing of its cache: another one evicts parts of everybody."""
    sharing = await app.other_organization()
    cyan = await ended(sharing, greeting(host, CYAN))
    return Variants(sharing, cyan, await ended(sharing, greeting(host, PINK)))


async def test_variants_share_the_slices_that_are_equal(variants: Variants, tmp_path: Path) -> None:
    renders = (variants.cyan, variants.pink)
    assert [await filmed(variants.app, each) for each in renders] == [[0, 1, 2], [0]]
    paths = [
        await film(variants.app, render, tmp_path / f"{n}.mp4") for n, render in enumerate(renders)
    ]
    for path, is_pink in zip(paths, (False, True), strict=True):
        frames = await asyncio.to_thread(decode_frames, path)
        assert [read_frame_code(frame.rgb) for frame in frames] == list(range(CLIP_S * FPS))
        red, green, _ = colour_at(frames[2 * FPS + 2].rgb, 160, 220)
        assert (red > 200, green > 200) == (is_pink, not is_pink)
    first, second = (packets_of(path) for path in paths)
    assert first[SLICE_FRAMES:] == second[SLICE_FRAMES:]
    assert first[:SLICE_FRAMES] != second[:SLICE_FRAMES]


async def test_a_film_with_reused_slices_is_the_one_made_without(
    variants: Variants, fresh: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    plain = await ended(fresh, greeting(host, PINK))
    assert await filmed(variants.app, variants.pink) == [0]
    assert await filmed(fresh, plain) == [0, 1, 2], "another organization's are nobody's business"
    one = await film(variants.app, variants.pink, tmp_path / "shared.mp4")
    other = await film(fresh, plain, tmp_path / "plain.mp4")
    assert one.read_bytes() == other.read_bytes()


async def test_a_replaced_worker_adds_nothing_to_the_cache(variants: Variants) -> None:
    """The fence holds for copies as for films."""
    services, render = variants.app.services, variants.cyan
    assert render.plan is not None
    digest = (await services.renders.finished_slices(render.id))[1].record["digest"]
    late = TakenRenderSlice(
        render.id, FilmSlice(1, SLICE_FRAMES, SLICE_FRAMES), fence=9, digest=digest
    )
    reuse = RenderCache(services.render_worker, services.part_cache)
    assert await reuse.finish_slice_from_cache(render, late, FilmPlan.from_json(render.plan)), (
        "it was found"
    )
    assert await stored_slices(variants.app, render) == []
    assert await filmed(variants.app, render) == [0, 1, 2]


async def test_the_same_film_from_another_address_is_copied_and_stays(
    fresh: AppHarness, host: MediaServer, tmp_path: Path
) -> None:
    first = await ended(fresh, greeting(host))
    again = await ended(fresh, greeting(host, file="same.mp4"))
    assert again.id != first.id
    assert again.result is not None
    assert again.result.record["reused"] == "film"
    assert await filmed(fresh, again) == []
    before = (await film(fresh, first, tmp_path / "first.mp4")).read_bytes()
    for each in (await fresh.client.get(VIDEOS)).json()["data"]:
        if (await video_of(fresh, each["id"])).render.id == first.id:
            await fresh.client.delete(f"{VIDEOS}/{each['id']}")
    assert first.result is not None
    assert await fresh.services.blobs.info(first.result.output_key) is None, "the first one is gone"
    after = await film(fresh, again, tmp_path / "again.mp4")
    assert after.read_bytes() == before


async def test_another_source_is_another_film(variants: Variants, host: MediaServer) -> None:
    other = await ended(variants.app, greeting(host, file="other.mp4"))
    assert await filmed(variants.app, other) == [0, 1, 2]


def page(body: str) -> dict[str, Any]:
    layer = {"id": "page", "type": "html", "html": {"page": {"body": body}}}
    box = {"width": 160, "height": 90}
    return {"dimensions": box, "duration": 1, "fps": FPS, "layers": [{**layer, "size": box}]}


async def test_a_page_without_scripts_is_reused(fresh: AppHarness) -> None:
    body = "<p style='color:red;animation:a 1s'>Hi</p><style>@keyframes a{to{opacity:0}}</style>"
    first, again = await ended(fresh, page(body)), await ended(fresh, page(body))
    assert await filmed(fresh, first) == [0]
    assert again.result is not None
    assert again.result.record["reused"] == "film"


@pytest.mark.parametrize(
    "body",
    [
        "<p>Hi</p><script>document.title = crypto.randomUUID()</script>",
        "<p style=\"background:url('https://127.0.0.1:1/lost.png')\">Hi</p>",
    ],
    ids=["with a script", "that asks for something from outside"],
)
async def test_a_page_that_may_differ_is_filmed_each_time(fresh: AppHarness, body: str) -> None:
    first, again = await ended(fresh, page(body)), await ended(fresh, page(body))
    assert (await filmed(fresh, first), await filmed(fresh, again)) == ([0], [0])


async def test_a_cached_part_without_its_blob_is_made_again(
    fresh: AppHarness, host: MediaServer
) -> None:
    """Its maker may have died between the row and the blob."""
    await ended(fresh, greeting(host, CYAN))
    caller = await fresh.services.identity.authenticate(fresh.key)
    await fresh.services.blobs.delete_prefix(f"org/{caller.organization.id}/kept")
    other = await ended(fresh, greeting(host, PINK))
    assert await filmed(fresh, other) == [0, 1, 2]
    third = await ended(fresh, greeting(host, "#FFFF00"))
    assert await filmed(fresh, third) == [0]


async def test_parts_are_evicted_by_size_and_by_age(fresh: AppHarness, host: MediaServer) -> None:
    services, render = fresh.services, await ended(fresh, greeting(host))
    prefix = f"org/{render.organization_id}/kept"

    async def sizes() -> list[int]:
        return [each.size_bytes async for each in services.blobs.list(prefix)]

    whole = await sizes()
    assert len(whole) == await cached_count(fresh) == 4, "three slices and the sound"
    clock = SettableClock(services.clock.now() + RETENTION - timedelta(minutes=5))
    await PartCache(services.database, services.blobs, clock).evict_unused()
    assert await sizes() == whole
    await PartCache(services.database, services.blobs, clock, sum(whole) - 1).evict_unused()
    left = await sizes()
    assert 0 < len(left) == await cached_count(fresh) < 4
    assert sum(left) < sum(whole)
    clock.advance(timedelta(minutes=10))
    await PartCache(services.database, services.blobs, clock).evict_unused()
    assert (await cached_count(fresh), await sizes()) == (0, [])


async def test_a_link_begun_by_a_dead_worker_is_completed_by_another(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with open_app(postgres, tmp_path / "data", template=TEMPLATE) as app:
        services, work = app.services, app.services.render_worker
        render = (await video_of(app, await create_video(app, plain_config(duration=8)))).render
        owner, plan = render.organization_id, FilmPlan(SIZE, TIMELINE, (), ("beware",))
        await services.blobs.put(TrackedKey(f"org/{owner}/slice"), b"pictures")
        await services.part_cache.add(owner, "sha256:a", key=f"org/{owner}/slice", record={})
        await work.start(render.id, job_id=1, attempt=1)
        await work.save_plan(render, plan, cut_slices(TIMELINE), ["sha256:a", None])
        dead = await work.take_slice(render, job_id=1, after=None)
        assert dead is not None
        await services.part_cache.copy_to(owner, "sha256:a", to_key=slice_key(render, 0))

        assert await work.start(render.id, job_id=1, attempt=2)
        taken = await work.take_slice(render, job_id=1, after=None)
        assert taken is not None
        assert (taken.slice.number, taken.fence) == (0, 2)
        reuse = RenderCache(work, services.part_cache)
        assert await reuse.finish_slice_from_cache(render, taken, plan)
        assert await reuse.finish_slice_from_cache(render, dead, plan), "it was not dead after all"
        [done] = await services.renders.finished_slices(render.id)
        assert await services.blobs.get(done.blob_key) == b"pictures"
        assert done.record["warnings"] == ["beware"]
        await delete_unrecorded(services, render_prefix(owner, render.id))
        assert await stored_slices(app, render) == [done.blob_key]
        last = await work.take_slice(render, job_id=1, after=0)
        assert last is not None
        assert not await reuse.finish_slice_from_cache(render, last, plan), "it has no digest"


async def test_the_planner_copies_cached_parts_at_once_and_a_late_planner_none(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with open_app(postgres, tmp_path / "data", template=TEMPLATE) as app:
        services, work = app.services, app.services.render_worker
        render = (await video_of(app, await create_video(app, plain_config(duration=8)))).render
        owner = render.organization_id
        plan = FilmPlan(SIZE, TIMELINE, (), ("beware",), sound_digest="sha256:sound")
        for digest in ("sha256:a", "sha256:sound"):
            await services.blobs.put(TrackedKey(f"org/{owner}/part"), digest.encode())
            await services.part_cache.add(owner, digest, key=f"org/{owner}/part", record={})
        await work.start(render.id, job_id=1, attempt=1)
        reuse = RenderCache(work, services.part_cache)
        slices, digests = cut_slices(TIMELINE), ["sha256:a", "sha256:b"]
        await reuse.save_plan(render, plan, slices, digests)
        await reuse.save_plan(render, plan, slices, digests)

        [done] = await services.renders.finished_slices(render.id)
        assert (done.number, done.record["reused"], done.record["warnings"]) == (
            0,
            "slice",
            ["beware"],
        )
        stored = await services.renders.get(owner, render.id)
        assert stored.sound_key is not None
        prefix = render_prefix(owner, render.id)
        blobs = {each.key async for each in services.blobs.list(prefix)}
        assert blobs == {render.source_key, done.blob_key, stored.sound_key}
        assert await services.blobs.get(done.blob_key) == b"sha256:a"
        taken = await work.take_slice(render, job_id=1, after=None)
        assert taken is not None
        assert (taken.slice.number, taken.digest) == (1, "sha256:b")
        assert await work.finish_slice(taken, blob_key="none", record={})
        assert sorted(await queued_kinds(app, render)) == ["render.film", "render.join"]


PAGE = """<style>body { margin: 0; background: #135; animation: fade 2s linear both }
@keyframes fade { to { opacity: 0 } }</style>
<ef-audio src="%s"></ef-audio><p></p>
<script>document.querySelector("p").textContent = EF_RENDER_DATA.name</script>"""
PAGE_FILM = {"width": 160, "height": 90, "fps": 10, "duration_ms": 2000, "work_slice_ms": 1000}


async def page_film(app: AppHarness, html: str) -> tuple[bytes, dict[str, Any]]:
    """Render a page; return the film and its record."""
    info = await app.render(html, data={"name": "Ada"}, **PAGE_FILM)
    film = await app.output(info)
    async with app.services.database.connection() as connection:
        cursor = await connection.execute("SELECT record FROM render WHERE id = %s", (info["id"],))
        row = await cursor.fetchone()
    assert row is not None
    return film, row["record"]


async def test_a_page_that_is_sent_again_is_not_filmed_again(
    fresh: AppHarness, host: MediaServer
) -> None:
    """Another source is another film; and a slice is found on its own."""
    page = PAGE % host.url("/clip.mp4")
    first, made = await page_film(fresh, page)
    assert made["captured_frames"] > 0
    again, found = await page_film(fresh, page)
    assert (again, found["reused"], found["captured_frames"]) == (first, "film", 0)
    # The film is gone, its slices and its sound are not.
    async with fresh.services.database.transaction() as connection:
        await connection.execute("UPDATE render SET film_digest = NULL")
    joined, parts = await page_film(fresh, page)
    assert (parts["slices"], parts["reused_slices"], parts["captured_frames"]) == (2, 2, 0)
    assert joined == first
    changes = {
        "source": await page_film(fresh, PAGE % host.url("/other.mp4")),
        "random": await page_film(fresh, page + "<script>crypto.randomUUID()</script>"),
        "random again": await page_film(fresh, page + "<script>crypto.randomUUID()</script>"),
    }
    reused = {name for name, (_, record) in changes.items() if record["captured_frames"] == 0}
    assert reused == set()


def scenes(second: str) -> str:
    """Three scenes of a second, one for each slice."""
    groups = "".join(
        f'<ef-timegroup mode="fixed" duration="1s"><h1>{each}</h1></ef-timegroup>'
        for each in ("one", second, "three")
    )
    box = "width: 160px; height: 90px; background: #fff"
    return (
        f"<style>h1 {{ animation: enter 1s }} @keyframes enter {{ from {{ opacity: 0 }} }}"
        f'</style><ef-timegroup mode="sequence" fps="10" style="{box}">{groups}</ef-timegroup>'
    )


async def test_a_changed_caption_of_a_page_films_only_the_slice_that_shows_it(
    app: AppHarness,
) -> None:
    """And the film is the one that is made without any reuse."""
    sharing, alone = await app.other_organization(), await app.other_organization()

    async def made(where: AppHarness, html: str) -> tuple[bytes, int]:
        info = await where.render(html, work_slice_ms=1000)
        slices = await where.client.get(f"/api/v1/renders/{info['id']}/slices")
        methods = [each["method"] for each in slices.json()["slices"]]
        return await where.output(info), methods.count("copied")

    await made(sharing, scenes("two"))
    changed, copied = await made(sharing, scenes("zwei"))
    fresh, nothing = await made(alone, scenes("zwei"))
    assert (copied, nothing) == (2, 0)
    assert changed == fresh
    assert (await sharing.services.renders.frame_counts()).reused_slices >= copied
