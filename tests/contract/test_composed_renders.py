"""Renders of pages that are composed: by several workers, with a record and metrics."""

from typing import Any

import pytest

from tests.support.app import AppHarness, running_workers

PAGE = """<!doctype html><style>body { margin: 0; background: #135; color: #fff; font: 40px serif }
p { position: absolute; left: 20px; top: 30px; margin: 0; animation: move 4s linear both }
@keyframes move { to { transform: translate(120px, 60px) scale(1.2); opacity: .5 } }
</style><p>Composed</p>"""
TOKEN = "a token to read metrics"
BLENDED = f"{PAGE}<p style='mix-blend-mode: multiply'>Blended</p>"


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"page_method": "composed", "metrics_token": TOKEN}


async def rendered(app: AppHarness, html: str) -> tuple[bytes, dict[str, Any]]:
    order = {"html": html, "width": 320, "height": 180, "fps": 10, "duration_ms": 3000}
    info = await app.wait_ended(await app.create(**order, slice_ms=1000))
    assert info["status"] == "complete", info
    film = await app.client.get(f"/api/v1/renders/{info['id']}.mp4")
    async with app.services.database.connection() as connection:
        cursor = await connection.execute("SELECT record FROM render WHERE id = %s", (info["id"],))
        row = await cursor.fetchone()
    assert row is not None
    record: dict[str, Any] = row["record"]
    return film.content, record


async def test_several_workers_compose_one_film_and_record_it(app: AppHarness) -> None:
    async with running_workers(app.services, workers=1):
        one, record = await rendered(app, PAGE)
        _, filmed = await rendered(app, BLENDED)
    assert (record["composed_frames"], record["differing_slices"]) == (30, 0)
    assert record["filmed_reason"] is None
    assert filmed["composed_frames"] == 0
    assert "mix-blend-mode" in filmed["filmed_reason"]
    async with running_workers(app.services, workers=2):
        two, _ = await rendered(app, PAGE)
    assert one == two
    metrics = (await app.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})).text
    assert 'framekiln_film_frames{method="composed"} 60.0' in metrics
    assert "framekiln_film_differing_slices 0.0" in metrics
    assert "framekiln_film_reused_slices 0.0" in metrics
