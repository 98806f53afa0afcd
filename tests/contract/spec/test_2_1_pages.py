"""Clauses 2.1 and 8: lists of v2 come in pages with numbers, the newest first."""

from typing import Any

import pytest

from tests.support.app import BASE_URL, AppHarness
from tests.support.videos import VIDEOS, create_video, plain_config, template_body

pytestmark = pytest.mark.spec("2.1", "8")

TEMPLATES = "/v2/templates"
COUNT = 17


@pytest.fixture(scope="module")
async def ids(app: AppHarness) -> list[str]:
    """Videos in the order of their creation."""
    return [await create_video(app, plain_config(metadata={"n": n})) for n in range(COUNT)]


async def page(app: AppHarness, path: str = VIDEOS, **query: Any) -> dict[str, Any]:
    answer = await app.client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_the_first_page_lists_the_newest_videos_with_links(
    app: AppHarness, ids: list[str]
) -> None:
    found = await page(app)
    assert list(found) == ["data", "links", "meta"]
    assert [video["id"] for video in found["data"]] == ids[::-1][:15]
    meta = found["meta"]
    assert {name: meta[name] for name in meta if name not in ("links", "path")} == {
        "current_page": 1,
        "from": 1,
        "last_page": 2,
        "per_page": 15,
        "to": 15,
        "total": COUNT,
    }
    assert meta["path"] == f"{BASE_URL}/v2/videos"
    assert found["links"] == {
        "first": f"{BASE_URL}/v2/videos?page=1",
        "last": f"{BASE_URL}/v2/videos?page=2",
        "prev": None,
        "next": f"{BASE_URL}/v2/videos?page=2",
    }
    assert meta["links"] == [
        {"url": None, "label": "&laquo; Previous", "active": False},
        {"url": f"{BASE_URL}/v2/videos?page=1", "label": "1", "active": True},
        {"url": f"{BASE_URL}/v2/videos?page=2", "label": "2", "active": False},
        {"url": f"{BASE_URL}/v2/videos?page=2", "label": "Next &raquo;", "active": False},
    ]


async def test_following_the_next_links_lists_each_video_once(
    app: AppHarness, ids: list[str]
) -> None:
    seen: list[str] = []
    url: str | None = f"{VIDEOS}?per_page=5"
    while url:
        found = (await app.client.get(url)).json()
        assert found["meta"]["per_page"] == 5
        seen += [video["id"] for video in found["data"]]
        url = found["links"]["next"]
    assert seen == ids[::-1]


async def test_a_page_after_the_last_is_empty(app: AppHarness, ids: list[str]) -> None:
    found = await page(app, page=9)
    assert found["data"] == []
    assert (found["meta"]["from"], found["meta"]["to"]) == (None, None)
    assert (found["meta"]["total"], found["meta"]["last_page"]) == (COUNT, 2)
    assert found["links"]["next"] is None


async def test_an_empty_list_has_one_page(app: AppHarness) -> None:
    stranger = await app.other_organization()
    found = await page(stranger)
    assert found["data"] == []
    assert found["meta"]["last_page"] == 1
    assert found["meta"]["total"] == 0


@pytest.mark.parametrize(
    "query",
    [
        {"page": 0},
        {"page": -1},
        {"page": "x"},
        {"per_page": 0},
        {"per_page": 101},
        {"page": 10**30},
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [VIDEOS, TEMPLATES])
async def test_invalid_page_numbers_are_rejected_with_a_path(
    app: AppHarness, path: str, query: dict[str, Any]
) -> None:
    answer = await app.client.get(path, params=query)
    assert answer.status_code == 422
    assert answer.json()["issues"][0]["path"] in query


async def test_templates_are_listed_in_pages(app: AppHarness) -> None:
    names = [f"t{n}" for n in range(3)]
    for name in names:
        answer = await app.client.post(TEMPLATES, json=template_body(name=name))
        assert answer.status_code == 201, answer.text
    first, second = [await page(app, TEMPLATES, per_page=2, page=n) for n in (1, 2)]
    assert [each["name"] for each in first["data"] + second["data"]] == names[::-1]
    assert second["links"]["prev"] == f"{BASE_URL}/v2/templates?per_page=2&page=1"
