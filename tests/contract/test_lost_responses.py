"""Responses of PostgreSQL that get lost: what was stored stays usable."""

from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from framekiln.renders.events import RenderEvents
from framekiln.renders.service import Renders
from tests.support.app import BASE_URL, AppHarness
from tests.support.jobs import open_database
from tests.support.lossy_proxy import LossyProxy

pytestmark = pytest.mark.spec("4.3")

RENDERS = "/api/v1/renders"
SMALL = {"width": 320, "height": 180, "fps": 10, "duration_ms": 500}


@pytest.mark.parametrize("lost", [b"INSERT INTO render ", b"COMMIT"])
async def test_a_lost_commit_response_does_not_delete_the_source(
    idle_app: AppHarness, tmp_path: Path, lost: bytes
) -> None:
    """It was deleted with the answer, and a worker then found nothing to render."""
    parts = idle_app.services
    if lost == b"COMMIT":
        # Only a render that somebody subscribed to takes a transaction.
        idle_app = await idle_app.other_organization()
        new = {"url": "https://receiver.example/hook", "events": ["render.created"]}
        (await idle_app.client.post("/api/v1/webhooks", json=new)).raise_for_status()
    who = f"nobody heard {uuid4()}"
    async with parts.database.connection() as connection:
        conninfo = connection.info.dsn
    async with LossyProxy(conninfo, tmp_path, lost) as proxy:
        async with open_database(proxy.conninfo) as database:
            renders = Renders(
                database,
                jobs=parts.jobs,
                blobs=parts.blobs,
                notifications=parts.notifications,
                clock=parts.clock,
                events=RenderEvents(parts.outbox, base_url=BASE_URL),
                quotas=parts.quotas,
            )
            idle_app.asgi.state.services = replace(parts, renders=renders)
            body = {"html": f"<p>{who}", "metadata": {"who": who}, **SMALL}
            try:
                answer = await idle_app.client.post(RENDERS, json=body)
            finally:
                idle_app.asgi.state.services = parts
        assert proxy.has_lost
    assert answer.status_code == 503
    async with parts.database.connection() as connection:
        query = "SELECT source_key FROM render WHERE metadata ->> 'who' = %s"
        row = await (await connection.execute(query, (who,))).fetchone()
    assert row is not None
    assert who.encode() in await parts.blobs.get(row["source_key"])
