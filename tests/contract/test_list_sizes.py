"""Lists leave the long parts of their items in the database: the api would hold all of them."""

from framekiln.videos.pagination import PageNumberRequest
from framekiln.videos.templates.model import StoredTemplate
from tests.support.app import AppHarness
from tests.support.videos import VIDEOS, create_video, plain_config

LONG = "x" * 300_000


async def test_the_list_of_templates_has_no_contents(app: AppHarness) -> None:
    """A list of six templates of 28 MiB stopped the api for a second."""
    body = {"name": "t", "config": plain_config(), "inputs": {}, "default_values": {"a": LONG}}
    created = (await app.client.post("/v2/templates", json=body)).json()["data"]
    caller = await app.services.identity.authenticate(app.key)
    templates = app.services.v2.templates
    listed = await templates.list(caller.organization.id, PageNumberRequest())
    assert [(each.id, each.version) for each in listed.items] == [(created["id"], 1)]
    assert not isinstance(listed.items[0], StoredTemplate)
    assert (await app.client.get("/v2/templates")).json()["data"] == [created]


async def test_the_list_of_videos_has_no_long_configs(app: AppHarness) -> None:
    layer = {"type": "html", "html": {"page": f"<!--{LONG}--><p>Hi"}}
    short = await create_video(app, plain_config())
    long = await create_video(app, plain_config(layers=[layer], filename="Long.mp4"))
    caller = await app.services.identity.authenticate(app.key)
    listed = await app.services.v2.videos.list(caller.organization.id, PageNumberRequest())
    found = {str(each.id): each for each in listed.items}
    assert "layers" in found[short].record.config
    assert found[long].record.config == {"filename": "Long.mp4", "extension": "mp4"}
    shown = (await app.client.get(VIDEOS)).json()["data"]
    assert {each["id"] for each in shown} >= {short, long}


async def test_the_metadata_of_a_render_has_a_limit(app: AppHarness) -> None:
    """Lists contain it, and it could have 24 MiB."""
    largest = {"name": "x" * ((16 << 10) - 4)}
    body = {"html": "<p>Hi", "duration_ms": 100, "metadata": largest}
    answer = await app.client.post("/api/v1/renders", json=body)
    assert (answer.status_code, answer.json()["metadata"]) == (201, largest)
    body["metadata"] = {**largest, "a": ""}
    answer = await app.client.post("/api/v1/renders", json=body)
    assert answer.status_code == 400
    assert answer.json()["issues"][0]["path"] == "metadata"
