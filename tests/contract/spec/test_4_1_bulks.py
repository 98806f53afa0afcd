"""4.1: many videos of one template, a row of data for each."""

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from framekiln.db.notify import notify
from framekiln.jobs.failures import Failure
from framekiln.jobs.model import JobContext, WorkerPool
from framekiln.kit.errors import FramekilnError
from framekiln.renders.jobs import FILM_QUEUE, FILM_RENDER
from framekiln.videos.bulks.model import ROWS_UNDER_WAY
from framekiln.videos.public_ids import BulkId
from framekiln.webhooks.model import NewSubscription
from framekiln.webhooks.topics import TOPICS
from tests.support.app import AppHarness
from tests.support.jobs import FAST_TIMING
from tests.support.timeouts import TIMEOUT_S
from tests.support.videos import (
    complete_video,
    create_video,
    plain_config,
    template_body,
    video_of,
)

pytestmark = pytest.mark.spec("4.1")


@pytest.fixture(scope="module")
def film(flash_clip: Path) -> bytes:
    return flash_clip.read_bytes()


@pytest.fixture
async def template(app: AppHarness) -> str:
    layer = {"id": "t", "type": "text", "text": {"text": "Hello {{ name }}"}}
    body = template_body(
        config={"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]},
        inputs={"name": "required|string|max:20"},
        default_values={"name": "you"},
    )
    answer = await app.client.post("/v2/templates", json=body)
    assert answer.status_code == 201, answer.text
    return f"/v2/templates/{answer.json()['data']['id']}/bulk"


def names(count: int, prefix: str) -> list[dict[str, str]]:
    return [{"name": f"{prefix} {number}"} for number in range(1, count + 1)]


async def post(app: AppHarness, path: str, rows: Any, **headers: str) -> dict[str, Any]:
    answer = await app.client.post(path, json=rows, headers=headers)
    assert answer.status_code == 201, answer.text
    bulk: dict[str, Any] = answer.json()["data"]
    return bulk


async def subscribe(app: AppHarness) -> None:
    """Subscribe to events of bulks; nothing is sent here."""
    caller = await app.services.identity.authenticate(app.key)
    new = NewSubscription(caller.organization.id, None, "https://93.184.215.14/", ("bulk.*",))
    await app.services.webhooks.create(new)


async def bulk_events(app: AppHarness, bulk_id: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the topics of a bulk's events, and the numbers of its rows by status."""
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            """
            SELECT topic, body::json -> 'data' AS data FROM webhook_event AS event
            WHERE resource_id = %s ORDER BY (
                SELECT min(position) FROM webhook_delivery WHERE event_id = event.id
            )
            """,
            (bulk_id,),
        )
        events = await cursor.fetchall()
    for event in events:
        assert event["data"].keys() == TOPICS[event["topic"]].sample.keys()
    return [(event["topic"], event["data"]["counts"]) for event in events]


async def start_rows(app: AppHarness, bulk_id: str) -> None:
    """Do the job of a bulk; no worker runs here."""

    def is_final(_error: FramekilnError) -> bool:
        return False

    caller = await app.services.identity.authenticate(app.key)
    worker = app.services.v2.bulk_worker
    await worker.start_rows(caller.organization.id, BulkId(bulk_id), is_final=is_final)


async def shown(app: AppHarness, bulk_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await app.client.get(f"/v2/bulks/{bulk_id}")).json()["data"]
    return found


async def rows_of(app: AppHarness, bulk_id: str) -> list[dict[str, Any]]:
    answer = await app.client.get(f"/v2/bulks/{bulk_id}/rows", params={"per_page": 100})
    rows: list[dict[str, Any]] = answer.json()["data"]
    return rows


async def wakes_pages(app: AppHarness, action: Awaitable[object]) -> bool:
    """Whether pages that show bulks of the organization are told to read them again."""
    caller = await app.services.identity.authenticate(app.key)
    topic, marker = f"organization:{caller.organization.id}:bulk", f"marker:{uuid4()}"
    async with app.services.notifications.follow(topic, marker) as follower:

        async def read_to_marker() -> set[str]:
            async with app.services.database.transaction() as connection:
                await notify(connection, marker)
            woken: set[str] = set()
            # Notifications arrive in the order of their commits.
            while marker not in woken:
                assert await follower.wait(TIMEOUT_S)
                woken |= follower.take_topics()
            return woken

        await read_to_marker()
        await action
        return topic in await read_to_marker()


async def test_a_bulk_warns_of_what_has_no_effect(app: AppHarness, template: str) -> None:
    body = {"rows": [{"name": "Ada"}, {"name": "Bo", "nmae": "x"}], "key": "k"}
    answer = await app.client.post(template, json=body)
    assert answer.status_code == 201, answer.text
    found = [(each.get("row"), each["path"]) for each in answer.json()["warnings"]]
    assert found == [(None, "key"), (2, "data.nmae")]


async def test_rows_become_videos_a_few_at_a_time(
    app: AppHarness, template: str, film: bytes
) -> None:
    await subscribe(app)
    count = ROWS_UNDER_WAY + 2
    bulk = await post(app, template, names(count, "window"))
    assert (bulk["status"], bulk["row_count"], bulk["progress"]) == ("running", count, 0)
    assert await wakes_pages(app, start_rows(app, bulk["id"]))
    assert not await wakes_pages(app, start_rows(app, bulk["id"]))
    assert (await shown(app, bulk["id"]))["counts"] == {
        "waiting": 2,
        "processing": ROWS_UNDER_WAY,
        "ready": 0,
        "failed": 0,
        "cancelled": 0,
    }
    first, second, *others = await rows_of(app, bulk["id"])
    assert await wakes_pages(app, complete_video(app, first["video_id"], film))
    render = (await video_of(app, second["video_id"])).render
    failure = Failure("layer_failed", "broken")
    assert await wakes_pages(app, app.services.render_worker.fail(render.id, failure))
    await start_rows(app, bulk["id"])
    assert (await shown(app, bulk["id"]))["counts"]["waiting"] == 0
    for row in (await rows_of(app, bulk["id"]))[2:]:
        await complete_video(app, row["video_id"], film)
    # Only the status of the bulk is left to change.
    assert await wakes_pages(app, start_rows(app, bulk["id"]))
    ended = await shown(app, bulk["id"])
    assert (ended["status"], ended["progress"]) == ("complete", 1)
    assert (ended["counts"]["ready"], ended["counts"]["failed"]) == (count - 1, 1)
    assert ended["ended_at"] >= ended["created_at"]
    assert await bulk_events(app, bulk["id"]) == [
        ("bulk.created", bulk["counts"]),
        ("bulk.completed", ended["counts"]),
    ]
    rows = await rows_of(app, bulk["id"])
    assert [row["row"] for row in rows] == list(range(1, count + 1))
    assert rows[1]["error"] == {"code": "layer_failed", "message": "broken"}
    assert len({row["video_id"] for row in rows}) == count

    packed = await app.client.get(f"/v2/bulks/{bulk['id']}/download")
    assert packed.headers["content-type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert archive.testzip() is None
        assert len(archive.namelist()) == count
        assert archive.read(archive.namelist()[0]) == film
        manifest = json.loads(archive.read("manifest.json"))
    assert [entry["row"] for entry in manifest] == list(range(1, count + 1))
    table = await app.client.get(f"/v2/bulks/{bulk['id']}/manifest", params={"format": "csv"})
    entries = list(csv.DictReader(io.StringIO(table.text)))
    assert entries[0]["download_url"].endswith(f"/v2/videos/{first['video_id']}/download")
    assert (entries[1]["status"], entries[1]["error_code"]) == ("failed", "layer_failed")
    assert len(entries) == len(others) + 2


async def test_wrong_rows_are_all_named_and_nothing_starts(app: AppHarness, template: str) -> None:
    before = await app.count_stored()
    rows = [{"name": "Ada"}, {"name": 7}, {}, *({"name": "x" * 99} for _ in range(60))]
    answer = await app.client.post(template, json={"rows": rows})
    assert answer.status_code == 422
    issues = answer.json()["issues"]
    assert [issue["row"] for issue in issues] == list(range(2, 64))
    assert (issues[1]["path"], issues[1]["code"]) == ("rows.3.data.name", "required")
    assert await app.count_stored() == before


@pytest.mark.parametrize("content_type", ["application/json", "application/x-ndjson"])
async def test_of_many_wrong_rows_the_first_are_named(
    app: AppHarness, template: str, content_type: str
) -> None:
    """10,000 empty rows with 20 issues each stopped the api for 17 s."""
    row, separator = ("{}", ",") if content_type == "application/json" else ("7", "\n")
    body = separator.join([row] * 1001)
    content = f"[{body}]" if content_type == "application/json" else body
    headers = {"Content-Type": content_type}
    answer = await app.client.post(template, content=content, headers=headers)
    assert answer.status_code == 422
    assert [issue["row"] for issue in answer.json()["issues"]] == list(range(1, 1001))
    assert "1001 rows have errors" in answer.json()["message"]


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("text/csv", "name\nCsv 1\nCsv 2\n"),
        ("application/x-ndjson", '{"name": "Line 1"}\n{"name": "Line 2"}\n'),
        ("application/x-www-form-urlencoded", '[{"name": "Form 1"}, {"name": "Form 2"}]'),
    ],
)
async def test_rows_may_be_csv_or_json_lines(
    app: AppHarness, template: str, content_type: str, body: str
) -> None:
    headers = {"Content-Type": content_type}
    answer = await app.client.post(template, content=body, headers=headers)
    assert answer.status_code == 201, answer.text
    rows = await rows_of(app, answer.json()["data"]["id"])
    assert [row["data"]["name"][-2:] for row in rows] == [" 1", " 2"]


async def test_a_repeated_request_returns_the_first_bulk(app: AppHarness, template: str) -> None:
    key = {"Idempotency-Key": "order-7"}
    first = await post(app, template, names(2, "once"), **key)
    again = await app.client.post(template, json=names(2, "once"), headers=key)
    assert (again.status_code, again.json()["data"]["id"]) == (200, first["id"])
    other = await app.client.post(template, json=names(3, "once"), headers=key)
    assert (other.status_code, other.json()["error"]) == (409, "bulk_key_reused")


async def test_cancelling_stops_rows_and_keeps_finished_videos(
    app: AppHarness, template: str, film: bytes
) -> None:
    await subscribe(app)
    bulk = await post(app, template, names(ROWS_UNDER_WAY + 1, "cancel"))
    assert (await app.client.get(f"/v2/bulks/{bulk['id']}/download")).status_code == 409
    await start_rows(app, bulk["id"])
    first, second, *_ = await rows_of(app, bulk["id"])
    await complete_video(app, first["video_id"], film)
    assert await wakes_pages(app, app.client.post(f"/v2/bulks/{bulk['id']}/cancel"))
    cancelled = await shown(app, bulk["id"])
    assert cancelled["status"] == "cancelled"
    assert cancelled["counts"]["cancelled"] == ROWS_UNDER_WAY
    assert (await app.client.post(f"/v2/bulks/{bulk['id']}/cancel")).status_code == 200
    assert (await bulk_events(app, bulk["id"]))[1:] == [("bulk.cancelled", cancelled["counts"])]
    await start_rows(app, bulk["id"])
    assert (await shown(app, bulk["id"]))["counts"]["ready"] == 1
    assert (await app.client.get(f"/v2/videos/{first['video_id']}")).json()["is_ready"]
    assert (await app.client.get(f"/v2/videos/{second['video_id']}")).status_code == 404


async def test_a_row_whose_video_is_deleted_does_not_hold_up_the_bulk(
    app: AppHarness, template: str
) -> None:
    bulk = await post(app, template, names(1, "deleted"))
    await start_rows(app, bulk["id"])
    (row,) = await rows_of(app, bulk["id"])
    await app.client.delete(f"/v2/videos/{row['video_id']}")
    await start_rows(app, bulk["id"])
    (row,) = await rows_of(app, bulk["id"])
    assert (row["status"], row["error"]["code"]) == ("failed", "cancelled")
    assert (await shown(app, bulk["id"]))["status"] == "complete"


async def test_two_workers_start_each_row_once(app: AppHarness, template: str) -> None:
    bulk = await post(app, template, names(6, "twice"))
    await asyncio.gather(*(start_rows(app, bulk["id"]) for _ in range(3)))
    rows = await rows_of(app, bulk["id"])
    assert {row["status"] for row in rows} == {"processing"}
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT count(*) AS n FROM video WHERE config::text LIKE '%Hello twice %'"
        )
        assert await cursor.fetchone() == {"n": 6}


async def test_a_video_of_another_organization_does_not_wait_for_the_rows_of_a_bulk(
    app: AppHarness, template: str
) -> None:
    bulk = await post(app, template, names(ROWS_UNDER_WAY, "flood"))
    await start_rows(app, bulk["id"])
    other = await app.other_organization()
    video = await video_of(other, await create_video(other, plain_config()))
    started: list[str] = []
    reached = asyncio.Event()

    async def note(job: JobContext) -> None:
        started.append(job.args["render_id"])
        if started[-1] == str(video.render.id):
            reached.set()

    worker = asyncio.create_task(
        app.services.jobs.run_worker(
            {FILM_RENDER: note},
            WorkerPool((FILM_QUEUE,), 1),
            name="test",
            timing=FAST_TIMING,
        )
    )
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await reached.wait()
    finally:
        worker.cancel()
        await asyncio.wait([worker])
    assert started.index(str(video.render.id)) <= 1, "at most one row was before it"


async def test_other_organizations_do_not_see_a_bulk(app: AppHarness, template: str) -> None:
    bulk = await post(app, template, names(1, "mine"))
    stranger = await app.other_organization()
    for path in ("", "/rows", "/manifest", "/download"):
        answer = await stranger.client.get(f"/v2/bulks/{bulk['id']}{path}")
        assert (answer.status_code, answer.json()["error"]) == (404, "bulk_not_found")
    assert (await stranger.client.post(f"/v2/bulks/{bulk['id']}/cancel")).status_code == 404
    assert (await stranger.client.post(template, json=names(1, "x"))).status_code == 404
    assert (await stranger.client.get("/v2/bulks")).json()["data"] == []


async def test_bulks_are_listed_newest_first(app: AppHarness, template: str) -> None:
    made = [await post(app, template, names(count, "listed")) for count in (1, 2)]
    listed = (await app.client.get("/v2/bulks", params={"per_page": 2})).json()
    assert listed["data"] == [await shown(app, bulk["id"]) for bulk in reversed(made)]
    assert [each["counts"]["waiting"] for each in listed["data"]] == [2, 1]
    assert listed["meta"]["total"] >= 2
