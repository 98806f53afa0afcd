"""Lists of files and renders: newest first, in pages, of one organization."""

import base64
import json
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

import pytest

from framekiln.db.newest_rows import NewestPage, RowPosition, list_newest_rows
from framekiln.db.pool import Connection
from tests.support.app import AppHarness
from tests.support.uploads import FILES

RENDERS = "/api/v1/renders"


async def names(app: AppHarness, **query: str | int) -> tuple[list[str], str | None]:
    answer = await app.client.get(FILES, params=query)
    assert answer.status_code == 200, answer.text
    body = answer.json()
    return [file["filename"] for file in body["files"]], body["next_cursor"]


async def test_files_are_listed_by_page_name_type_and_status(app: AppHarness) -> None:
    for name, type_ in (("a.mp4", "video"), ("b.png", "image"), ("Holiday.MP4", "video")):
        body = {"filename": name, "type": type_, "byte_size": 10}
        assert (await app.client.post(FILES, json=body)).status_code == 201
    first, cursor = await names(app, limit=2)
    assert first == ["Holiday.MP4", "b.png"]
    assert cursor is not None
    assert await names(app, limit=2, cursor=cursor) == (["a.mp4"], None)
    assert await names(app, type="image") == (["b.png"], None)
    assert await names(app, search="holi") == (["Holiday.MP4"], None)
    assert await names(app, search="%") == ([], None)
    assert await names(app, status="ready") == ([], None)


async def test_renders_are_listed_without_those_of_videos(app: AppHarness) -> None:
    made = [(await app.client.post(RENDERS, json={"html": "<p>"})).json()["id"] for _ in range(3)]
    layer = {"id": "t", "type": "text", "text": {"text": "Hello"}}
    config = {"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]}
    assert (await app.client.post("/v2/videos/new", json={"config": config})).status_code == 201
    page = (await app.client.get(RENDERS, params={"limit": 2})).json()
    rest = (await app.client.get(RENDERS, params={"cursor": page["next_cursor"]})).json()
    listed = [each["id"] for each in page["renders"] + rest["renders"]]
    assert listed == made[::-1]
    assert rest["next_cursor"] is None
    assert (await app.client.get(RENDERS, params={"status": "failed"})).json()["renders"] == []


@pytest.mark.parametrize("path", [FILES, RENDERS])
@pytest.mark.parametrize("place", ["7", "2026-01-01 x", "yesterday 7", ""])
async def test_cursors_of_others_are_refused(app: AppHarness, path: str, place: str) -> None:
    cursor = base64.urlsafe_b64encode(place.encode()).decode()
    answer = await app.client.get(path, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_request")
    assert "send next_cursor of the previous page" in answer.json()["message"]
    assert (await app.client.get(path, params={"colour": "red"})).status_code == 400


async def test_other_organizations_are_not_listed(app: AppHarness) -> None:
    other = (await app.other_organization()).client
    assert (await other.get(FILES)).json() == {"files": [], "next_cursor": None}
    assert (await other.get(RENDERS)).json() == {"renders": [], "next_cursor": None}


async def test_pages_of_20000_renders_are_read_by_index(app: AppHarness) -> None:
    """Wherever a page begins, it costs as much as the first one."""
    owner = await app.other_organization()
    first = (await owner.client.post(RENDERS, json={"html": "<p>"})).json()["id"]
    database = app.services.database
    async with database.transaction() as connection:
        await connection.execute(
            """
            INSERT INTO render (id, organization_id, status, source_key, source_kind, metadata,
                output, slice_ms, created_at)
            SELECT gen_random_uuid(), organization_id, 'failed', source_key, source_kind, metadata,
                output, slice_ms, created_at - number * interval '1 second'
            FROM render, generate_series(1, 20000) AS number WHERE id = %s
            """,
            (first,),
        )
        await connection.execute("ANALYZE render")
    seen, cursor = 0, None
    for _ in range(3):
        params = {"limit": 100} | ({"cursor": cursor} if cursor else {})
        page = (await owner.client.get(RENDERS, params=params)).json()
        seen, cursor = seen + len(page["renders"]), page["next_cursor"]
    assert seen == 300
    async with database.connection() as connection:
        row = await (
            await connection.execute(
                "SELECT organization_id, created_at FROM render WHERE id = %s", (first,)
            )
        ).fetchone()
        assert row is not None
        middle = RowPosition(row["created_at"] - timedelta(seconds=10_000), UUID(first))
        for before in (None, middle):
            plan = await list_newest_rows(
                cast("Connection", Explained(connection)),
                "render",
                row["organization_id"],
                page=NewestPage(limit=100, before=before),
                conditions={"source_kind = ANY(%s)": ["html", "bundle"], "status = %s": None},
            )
            text = json.dumps(plan)
            assert "render_newest" in text
            assert "Seq Scan" not in text
            assert '"Sort"' not in text
    await owner.client.aclose()


class Explained:
    """Explains the statements of a connection instead of running them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def execute(self, statement: Any, values: Any) -> Any:
        return await self._connection.execute("EXPLAIN (FORMAT JSON) " + statement, values)
