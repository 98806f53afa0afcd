"""Clause 3.1, states of a render: who may enter which, and that only the last worker may."""

from collections.abc import AsyncIterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from uuid import UUID

import pytest

from framekiln.kit.ids import RenderId
from framekiln.renders.model import CHANGES, Failure, Made, Render, RenderStatus
from framekiln.renders.service import Renders
from tests.contract.conftest import TEMPLATE
from tests.support.app import Kiln, open_kiln
from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.spec("3.1")

S = RenderStatus
FAILURE = Failure("page_threw", "no")


@pytest.fixture(scope="module")
async def kiln(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Kiln]:
    folder = tmp_path_factory.mktemp("kiln")
    async with open_kiln(postgres, folder, template=TEMPLATE, has_worker=False) as kiln:
        yield kiln


@pytest.fixture
def renders(kiln: Kiln) -> Renders:
    return kiln.services.renders


def made(render: Render) -> Made:
    return Made(
        width_px=320,
        height_px=180,
        fps=Fraction(30),
        duration_ms=1000,
        output_key=f"org/{render.organization_id}/renders/{render.id}/output-{render.fence}.mp4",
        byte_size=1,
        record={},
    )


async def create(kiln: Kiln) -> RenderId:
    answer = await kiln.client.post("/api/v1/renders", json={"html": "<p>x"})
    return RenderId(UUID(answer.json()["id"]))


async def take(renders: Renders, render_id: RenderId) -> Render:
    render = await renders.take(render_id)
    assert render is not None
    return render


async def status_of(kiln: Kiln, render_id: RenderId) -> str:
    return str((await kiln.client.get(f"/api/v1/renders/{render_id}")).json()["status"])


async def put_into(kiln: Kiln, render_id: RenderId, status: RenderStatus) -> Render:
    """Return the render as its worker has it, in a state entered by force."""
    render = await take(kiln.services.renders, render_id)
    async with kiln.services.database.transaction() as connection:
        await connection.execute("UPDATE render SET status = %s WHERE id = %s", (status, render_id))
    return replace(render, status=status)


def test_terminal_states_are_left_by_nobody() -> None:
    assert {state for state in S if not CHANGES[state]} == {S.COMPLETE, S.FAILED}
    assert {state for state in S if state.is_terminal} == {S.COMPLETE, S.FAILED}
    assert set(CHANGES) == set(S)


def test_everything_but_the_start_can_be_entered_from_the_start() -> None:
    reached = {S.CREATED}
    for _ in S:
        reached |= {after for state in reached for after in CHANGES[state]}
    assert reached == set(S)


async def test_the_usual_life(kiln: Kiln, renders: Renders) -> None:
    render_id = await create(kiln)
    seen = [await status_of(kiln, render_id)]
    render = await take(renders, render_id)
    seen.append(await status_of(kiln, render_id))
    await renders.report(render, frames_done=1, frame_count=30)
    seen.append(await status_of(kiln, render_id))
    assert await renders.complete(render, made(render))
    seen.append(await status_of(kiln, render_id))
    assert seen == ["created", "rendering", "rendering", "complete"]


async def test_a_render_taken_over_recovers(kiln: Kiln, renders: Renders) -> None:
    render_id = await create(kiln)
    first = await take(renders, render_id)
    second = await take(renders, render_id)
    assert (first.fence, second.fence) == (1, 2)
    assert await status_of(kiln, render_id) == "recovering"
    third = await take(renders, render_id)
    assert await status_of(kiln, render_id) == "recovering"
    await renders.report(third, frames_done=1, frame_count=30)
    assert await status_of(kiln, render_id) == "rendering"
    assert await renders.complete(third, made(third))
    assert await status_of(kiln, render_id) == "complete"


async def test_a_worker_that_was_replaced_changes_nothing(kiln: Kiln, renders: Renders) -> None:
    render_id = await create(kiln)
    dead = await take(renders, render_id)
    alive = await take(renders, render_id)
    await renders.report(alive, frames_done=7, frame_count=30)
    await renders.report(dead, frames_done=20, frame_count=30)
    assert not await renders.complete(dead, made(dead))
    assert not await renders.fail(dead, FAILURE)
    assert (await renders.progress(render_id)).frames_done == 7
    assert await status_of(kiln, render_id) == "rendering"
    assert await renders.complete(alive, made(alive))
    info = (await kiln.client.get(f"/api/v1/renders/{render_id}")).json()
    assert (info["status"], info["error"]) == ("complete", None)


@pytest.mark.parametrize("status", [S.COMPLETE, S.FAILED])
async def test_a_finished_render_is_not_taken(
    kiln: Kiln, renders: Renders, status: RenderStatus
) -> None:
    render = await put_into(kiln, await create(kiln), status)
    assert await renders.take(render.id) is None
    assert await status_of(kiln, render.id) == status


@pytest.mark.parametrize(("before", "after"), list(product(S, (S.COMPLETE, S.FAILED))))
async def test_the_end_is_entered_as_the_table_says(
    kiln: Kiln, renders: Renders, before: RenderStatus, after: RenderStatus
) -> None:
    render = await put_into(kiln, await create(kiln), before)
    if after is S.COMPLETE:
        is_entered = await renders.complete(render, made(render))
    else:
        is_entered = await renders.fail(render, FAILURE)
    assert is_entered == (after in CHANGES[before])
    assert await status_of(kiln, render.id) == (after if is_entered else before)
