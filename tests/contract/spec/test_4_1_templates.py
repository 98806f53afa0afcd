"""Clauses 2.2, 4.1: templates are kept, filled with data, and become videos."""

import json
import re
import socket
from dataclasses import replace
from typing import Any

import pytest

from framekiln.composition.templates import InvalidData, RemoteCheck
from framekiln.videos.templates import work
from framekiln.videos.templates.remote_checks import RemoteChecks
from tests.support.app import AppHarness
from tests.support.videos import CLIP, template_body, video_of

pytestmark = pytest.mark.spec("2.2", "4.1")

TEMPLATES = "/v2/templates"


async def created(app: AppHarness, **changes: Any) -> str:
    answer = await app.client.post(TEMPLATES, json=template_body(**changes))
    assert answer.status_code == 201, answer.text
    return str(answer.json()["data"]["id"])


async def test_a_created_template_is_returned_and_listed(app: AppHarness) -> None:
    answer = await app.client.post(TEMPLATES, json=template_body())
    assert answer.status_code == 201
    assert list(answer.json()) == ["data"]
    template = answer.json()["data"]
    assert list(template) == ["id", "name", "created_at", "version", "parsed_config"]
    assert re.fullmatch(r"[A-Za-z0-9]{10}", template["id"])
    assert template["name"] == "Greeting"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", template["created_at"])
    assert template["parsed_config"] == {}
    found = await app.client.get(f"{TEMPLATES}/{template['id']}")
    assert found.json() == answer.json()
    listed = (await app.client.get(TEMPLATES)).json()["data"]
    assert template in listed


async def test_a_number_may_fill_a_text_field(app: AppHarness) -> None:
    layer = {"id": "t", "type": "text", "text": {"text": "{{ year }}"}}
    body = template_body(
        config={"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]},
        inputs={"year": "required|integer"},
        default_values={"year": 2025},
    )
    created = await app.client.post(TEMPLATES, json=body)
    assert created.status_code == 201, created.text
    path = f"{TEMPLATES}/{created.json()['data']['id']}/render"
    rendered = await app.client.post(path, json={"data": {"year": 2026}})
    assert rendered.status_code == 201, rendered.text
    plain = await app.client.post("/v2/videos/new", json={"config": body["config"]})
    (warning,) = plain.json()["warnings"]
    assert (warning["path"], warning["code"]) == ("layers.0.text.text", "templates_only")


async def test_fields_without_effect_are_named_with_the_one_that_was_meant(app: AppHarness) -> None:
    body = {**template_body(), "$schema": "x", "destination": None, "zzzz": 1}
    made = await app.client.post(TEMPLATES, json=body)
    changed = await app.client.put(f"{TEMPLATES}/{made.json()['data']['id']}", json=body)
    for answer in (made, changed):
        found = [
            (each["path"], each["code"], each.get("hint")) for each in answer.json()["warnings"]
        ]
        assert found == [
            ("destination", "unknown_field", "did you mean destinations?"),
            ("zzzz", "unknown_field", None),
        ]
    path = f"{TEMPLATES}/{made.json()['data']['id']}/render"
    data = {"source": "https://127.0.0.1/a.mp4"}
    rendered = await app.client.post(path, json={"data": data, "metadata": {}})
    [warning] = rendered.json()["warnings"]
    assert (warning["path"], warning["code"]) == ("metadata", "unknown_field")


@pytest.mark.parametrize("style", ["text", "urlencoded", "multipart", "files"])
async def test_bodies_may_be_json_text_or_forms(app: AppHarness, style: str) -> None:
    body = template_body()
    fields = {name: body[name] if name == "name" else json.dumps(body[name]) for name in body}
    sent: dict[str, dict[str, Any]] = {
        "text": {"json": fields},
        "urlencoded": {"data": fields},
        "multipart": {"files": {name: (None, text) for name, text in fields.items()}},
        "files": {
            "files": {
                name: (None if name == "name" else f"{name}.json", text)
                for name, text in fields.items()
            }
        },
    }
    answer = await app.client.post(TEMPLATES, **sent[style])
    assert answer.status_code == 201, answer.text
    path = f"{TEMPLATES}/{answer.json()['data']['id']}/render"
    data = {"source": "https://127.0.0.1/a.mp4"}
    filled = {
        "text": {"json": {"data": json.dumps(data)}},
        "urlencoded": {"data": {"data": json.dumps(data)}},
        "multipart": {"files": {"data": (None, json.dumps(data))}},
        "files": {"files": {"data": ("data.json", json.dumps(data))}},
    }[style]
    rendered = await app.client.post(path, **filled)  # type: ignore[arg-type]
    assert rendered.status_code == 201, rendered.text


async def test_rendering_a_template_creates_a_video(app: AppHarness) -> None:
    template_id = await created(app)
    data = {"source": "https://127.0.0.1/clip.mp4"}
    answer = await app.client.post(f"{TEMPLATES}/{template_id}/render", json={"data": data})
    assert answer.status_code == 201, answer.text
    assert list(answer.json()) == ["data"]
    template, video = answer.json()["data"]["template"], answer.json()["data"]["video"]
    assert list(video) == ["id", "is_failed", "is_ready", "metadata"]
    assert (video["is_failed"], video["is_ready"], video["metadata"]) == (False, False, {})
    assert template["id"] == template_id
    parsed = template["parsed_config"]
    assert parsed["layers"][0]["file"] == "https://127.0.0.1/clip.mp4"
    assert "source" not in parsed["layers"][0]
    assert parsed["shouldWatermark"] is False
    assert parsed["backgroundColor"] == "#000000FF"
    stored = await video_of(app, video["id"])
    assert stored.record.config == parsed
    assert stored.record.template_id == template_id
    # The template itself stays as it was.
    found = (await app.client.get(f"{TEMPLATES}/{template_id}")).json()["data"]
    assert found["parsed_config"] == {}


async def test_rendering_fills_typed_values_conditions_and_lists(app: AppHarness) -> None:
    config = {
        "dimensions": {"width": "{{ width }}", "height": 360},
        "duration": 3,
        "metadata": {"who": "{{ name }}"},
        "layers": [
            {"id": "t", "type": "text", "text": {"text": "Hi {{ name | upcase }}"}},
            {"id": "x", "type": "text", "text": {"text": "no"}, "when": "shown"},
            {"id": "p", "type": "image", "source": "{{ item }}", "repeat": "pictures"},
        ],
    }
    template_id = await created(
        app,
        config=config,
        inputs={
            "width": "required|integer|min:100|max:1920",
            "name": "string|max:20",
            "shown": "boolean",
            "pictures": "array",
        },
        default_values={"width": 640, "name": "you", "shown": True, "pictures": []},
    )
    pictures = ["https://a.example/1.png", "https://a.example/2.png"]
    data = {"width": "800", "name": "Zoë", "shown": False, "pictures": pictures, "naem": 1}
    answer = await app.client.post(f"{TEMPLATES}/{template_id}/render", json={"data": data})
    assert answer.status_code == 201, answer.text
    body = answer.json()
    parsed = body["data"]["template"]["parsed_config"]
    assert parsed["dimensions"] == {"width": 800, "height": 360}
    assert [layer["id"] for layer in parsed["layers"]] == ["t", "p-0", "p-1"]
    assert parsed["layers"][0]["text"]["text"] == "Hi ZOË"
    assert [layer["file"] for layer in parsed["layers"][1:]] == pictures
    assert body["data"]["video"]["metadata"] == {"who": "Zoë"}
    assert [(each["path"], each["code"]) for each in body["warnings"]] == [
        ("data.naem", "unknown_field")
    ]


WRONG_DATA: dict[str, tuple[Any, str, str]] = {
    "nothing": ({}, "data", "required"),
    "no object": ({"data": 7}, "data", "type"),
    "required": ({"data": {}}, "data.source", "required"),
    "no URL": ({"data": {"source": "clip"}}, "data.source", "not_url"),
    "too long": ({"data": {"source": CLIP, "title": "x" * 11}}, "data.title", "out_of_range"),
}


@pytest.mark.parametrize("case", WRONG_DATA)
async def test_data_that_violates_a_rule_is_refused(app: AppHarness, case: str) -> None:
    sent, path, code = WRONG_DATA[case]
    template_id = await created(
        app,
        inputs={"source": "required|active_url", "title": "string|max:10"},
        default_values={"source": CLIP, "title": ""},
    )
    before = await app.count_stored()
    answer = await app.client.post(f"{TEMPLATES}/{template_id}/render", json=sent)
    assert answer.status_code == 422, answer.text
    body = answer.json()
    assert set(body) == {"error", "message", "errors", "issues"}
    assert (body["issues"][0]["path"], body["issues"][0]["code"]) == (path, code)
    assert body["errors"][path]
    assert await app.count_stored() == before


async def resolve(host: str, _port: int) -> list[str]:
    """A resolver that knows one name, misses one, and is not well."""
    if host == "there.example":
        return ["192.0.2.1"]
    error = socket.EAI_NONAME if host == "nowhere.example" else socket.EAI_AGAIN
    raise socket.gaierror(error, "as arranged")


@pytest.mark.parametrize(
    ("host", "is_refused"),
    [
        ("there.example", False),
        ("nowhere.example", True),
        ("slow.example", False),
        ("[::1]", False),
    ],
)
async def test_active_url_refuses_only_hosts_that_do_not_resolve(
    app: AppHarness, host: str, *, is_refused: bool
) -> None:
    caller = await app.services.identity.authenticate(app.key)
    checks = RemoteChecks(app.services.v2.sources, resolve)
    asked = [RemoteCheck("data.source", f"https://{host}/a", "active_url")]
    if not is_refused:
        await checks.require(caller.organization.id, asked)
        return
    with pytest.raises(InvalidData) as refused:
        await checks.require(caller.organization.id, asked)
    (issue,) = refused.value.issues
    assert (issue.path, issue.code) == ("data.source", "host_not_found")


WRONG_TEMPLATES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no name": ({"name": None}, "name", "required"),
    "an empty name": ({"name": ""}, "name", "out_of_range"),
    "a name of spaces": ({"name": "  "}, "name", "pattern"),
    "a name of another type": ({"name": 7}, "name", "type"),
    "no config": ({"config": None}, "config", "required"),
    "no inputs": ({"inputs": None}, "inputs", "required"),
    "no defaults": ({"default_values": None}, "default_values", "required"),
    "a rule that nobody knows": (
        {"inputs": {"source": "required|actve_url"}},
        "inputs.source",
        "unknown_rule",
    ),
    "a rule that does not parse": (
        {"inputs": {"source": "max:ten"}},
        "inputs.source",
        "unknown_rule",
    ),
    "a placeholder that nobody fills": (
        {"config": {"layers": [{"type": "video", "source": "{{ sorce }}"}]}},
        "config.layers.0.source",
        "unknown_input",
    ),
    "a placeholder that does not parse": (
        {"config": {"layers": [{"type": "video", "source": "{{ source "}]}},
        "config.layers.0.source",
        "template_syntax",
    ),
    "defaults that its own rules refuse": (
        {"default_values": {"source": "no"}},
        "default_values.source",
        "not_url",
    ),
    "a config that could not be made": (
        {"config": {"duration": 1, "layers": [], "dimensions": {"width": 1, "height": 9}}},
        "config.dimensions.width",
        "out_of_range",
    ),
}


@pytest.mark.parametrize("case", WRONG_TEMPLATES)
async def test_a_template_that_cannot_be_rendered_is_refused_at_creation(
    app: AppHarness, case: str
) -> None:
    changes, path, code = WRONG_TEMPLATES[case]
    answer = await app.client.post(TEMPLATES, json=template_body(**changes))
    assert answer.status_code == 422, answer.text
    found = [(each["path"], each["code"]) for each in answer.json()["issues"]]
    assert found[0] == (path, code)


async def test_defaults_with_circular_references_are_refused(app: AppHarness) -> None:
    changes = {
        "inputs": {"a": "string", "b": "string"},
        "default_values": {"a": "{{ b }}", "b": "{{ a }}"},
    }
    answer = await app.client.post(TEMPLATES, json=template_body(**changes))
    assert answer.status_code == 422, answer.text


async def test_deleting_a_template_keeps_its_videos(app: AppHarness) -> None:
    template_id = await created(app)
    data = {"source": "https://127.0.0.1/kept.mp4"}
    path = f"{TEMPLATES}/{template_id}"
    video = (await app.client.post(f"{path}/render", json={"data": data})).json()["data"]["video"]
    answer = await app.client.delete(path)
    assert (answer.status_code, answer.json()) == (200, {"deleted": True})
    for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/render"), ("GET", "/schema")):
        gone = await app.client.request(method, path + tail, json={"data": data})
        assert (gone.status_code, gone.json()["error"]) == (404, "template_not_found")
    assert (await app.client.get(f"/v2/videos/{video['id']}")).status_code == 200


async def test_other_organizations_see_nothing(app: AppHarness) -> None:
    template_id = await created(app)
    stranger = await app.other_organization()
    for method, tail in (("GET", ""), ("DELETE", ""), ("POST", "/render"), ("GET", "/schema")):
        path = f"{TEMPLATES}/{template_id}{tail}"
        assert (await stranger.client.request(method, path, json={"data": {}})).status_code == 404
    assert (await stranger.client.get(TEMPLATES)).json()["data"] == []


async def test_a_template_has_a_json_schema(app: AppHarness) -> None:
    template_id = await created(app)
    schema = (await app.client.get(f"{TEMPLATES}/{template_id}/schema")).json()
    assert schema["required"] == ["source"]
    assert schema["properties"]["source"] == {"type": "string", "format": "uri", "default": CLIP}
    assert schema["examples"] == [{"source": CLIP}]


async def test_the_config_of_a_template_is_stored_unchanged(app: AppHarness) -> None:
    config = {**template_body()["config"], "zeta": 1, "alpha": [1, 2.5, None, "ü"]}
    answer = await app.client.post(TEMPLATES, json=template_body(config=config))
    assert [each["path"] for each in answer.json()["warnings"]] == ["config.zeta", "config.alpha"]
    caller = await app.services.identity.authenticate(app.key)
    stored = await app.services.v2.templates.get(
        caller.organization.id, answer.json()["data"]["id"]
    )
    assert json.dumps(stored.config) == json.dumps(config)


def texts_body(*texts: str, **values: str) -> dict[str, Any]:
    layers = [{"type": "text", "text": {"text": text}} for text in texts]
    return template_body(
        config={"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": layers},
        inputs=dict.fromkeys(values, "string"),
        default_values=values,
    )


async def test_a_large_template_gives_the_same_result_as_a_small_one(app: AppHarness) -> None:
    body = texts_body("{{ who | upcase }}", "{{ filler | size }} x", who="you", filler="x" * 20_000)
    answer = await app.client.post(TEMPLATES, json=body)
    assert answer.status_code == 201, answer.text
    path = f"{TEMPLATES}/{answer.json()['data']['id']}/render"
    rendered = await app.client.post(path, json={"data": {"who": "me", "whom": 1}})
    assert rendered.status_code == 201, rendered.text
    first, second = rendered.json()["data"]["template"]["parsed_config"]["layers"]
    assert (first["text"]["text"], second["text"]["text"]) == ("ME", "20000 x")
    assert [each["path"] for each in rendered.json()["warnings"]] == ["data.whom"]
    wrong = await app.client.post(path, json={"data": {"who": 7}})
    assert (wrong.status_code, list(wrong.json()["errors"])) == (422, ["data.who"])


async def test_a_template_with_too_many_steps_is_refused(app: AppHarness) -> None:
    loop = "{% for i in (1..9000) %}{{ i | append: 'x' }}{% endfor %}"
    answer = await app.client.post(TEMPLATES, json=texts_body(*[loop] * 400))
    assert answer.status_code == 422
    (issue,) = answer.json()["issues"]
    assert re.fullmatch(r"config\.layers\.\d+\.text\.text", issue["path"])
    assert issue["code"] == "out_of_range"
    assert "takes more than 5000000 steps" in answer.json()["message"]


async def test_a_template_that_takes_too_long_is_stopped_with_its_child(
    app: AppHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Even a child that does nothing takes longer than that to start.
    monkeypatch.setattr(work, "_LIMITS", replace(work._LIMITS, wall_s=0.0001))
    answer = await app.client.post(TEMPLATES, json=texts_body("{{ a }}" * 5000, a="b"))
    assert answer.status_code == 422
    assert "config: the template takes too much time or memory" in answer.json()["message"]


async def test_an_update_makes_a_version_and_earlier_ones_can_be_rendered(app: AppHarness) -> None:
    def body(text: str) -> dict[str, Any]:
        layer = {"id": "t", "type": "text", "text": {"text": f"{text} {{{{ name }}}}"}}
        return template_body(
            name=text,
            config={"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]},
            inputs={"name": "required|string"},
            default_values={"name": "you"},
        )

    template_id = await created(app, **body("Hello"))
    path = f"{TEMPLATES}/{template_id}"
    updated = await app.client.put(path, json=body("Bye"))
    assert updated.status_code == 200, updated.text
    assert (updated.json()["data"]["version"], updated.json()["data"]["name"]) == (2, "Bye")
    bad = await app.client.put(path, json={**body("x"), "inputs": {"name": "nonsense"}})
    assert bad.status_code == 422
    listed = (await app.client.get(f"{path}/versions")).json()
    assert [(each["version"], each["name"]) for each in listed["data"]] == [
        (2, "Bye"),
        (1, "Hello"),
    ]
    assert listed["meta"]["total"] == 2
    for listing, sent in zip(listed["data"], (body("Bye"), body("Hello")), strict=True):
        shown = await app.client.get(f"{path}/versions/{listing['version']}")
        assert shown.json()["data"] == {**listing, **sent}
    for wrong, status in ((3, 404), (0, 422), ("one", 422)):
        assert (await app.client.get(f"{path}/versions/{wrong}")).status_code == status
    for version, text in ((None, "Bye Ada"), (1, "Hello Ada"), (2, "Bye Ada")):
        sent = {"data": {"name": "Ada"}, **({} if version is None else {"version": version})}
        rendered = await app.client.post(f"{path}/render", json=sent)
        assert rendered.status_code == 201, rendered.text
        parsed = rendered.json()["data"]["template"]["parsed_config"]
        assert parsed["layers"][0]["text"]["text"] == text
        video = await app.client.get(f"/v2/videos/{rendered.json()['data']['video']['id']}")
        found = video.json()["template_id"], video.json()["template_version"]
        assert found == (template_id, version or 2)
    for wrong, status in ((3, 404), (0, 404), ("one", 422), (True, 422)):
        refused = {"data": {"name": "Ada"}, "version": wrong}
        assert (await app.client.post(f"{path}/render", json=refused)).status_code == status
    stranger = await app.other_organization()
    assert (await stranger.client.put(path, json=body("x"))).status_code == 404
    assert (await stranger.client.get(f"{path}/versions")).status_code == 404
    assert (await stranger.client.get(f"{path}/versions/1")).status_code == 404


async def test_a_template_is_checked_and_filled_without_being_stored(app: AppHarness) -> None:
    layer = {"id": "t", "type": "text", "text": {"text": "Hello {{ name }}"}}
    body = template_body(
        config={"dimensions": {"width": 64, "height": 64}, "duration": 1, "layers": [layer]},
        inputs={"name": "required|string|max:9"},
        default_values={"name": "you"},
    )
    del body["name"]
    check = f"{TEMPLATES}/check"
    before = (await app.client.get(TEMPLATES)).json()["meta"]["total"]
    plain = await app.client.post(check, json=body)
    assert plain.status_code == 200, plain.text
    assert plain.json()["data"]["schema"]["properties"]["name"]["maxLength"] == 9
    assert plain.json()["data"]["parsed_config"] == {}
    filled = await app.client.post(check, json={**body, "data": {"name": "Ada", "nam": "x"}})
    parsed = filled.json()["data"]["parsed_config"]
    assert parsed["layers"][0]["text"]["text"] == "Hello Ada"
    assert [each["path"] for each in filled.json()["warnings"]] == ["data.nam"]
    unchecked = {**body, "config": {**body["config"], "layerz": []}, "default_values": {}}
    for more, path in (({}, "default_values"), ({"data": {"name": "Ada"}}, "layerz")):
        [warning] = (await app.client.post(check, json={**unchecked, **more})).json()["warnings"]
        assert warning["path"] == path
    # What it becomes is a config like any other.
    assert (await app.client.post("/v2/videos/plan", json={"config": parsed})).status_code == 200
    for changes, field in (
        ({"data": {}}, "data.name"),
        ({"inputs": {"name": "nonsense"}}, "inputs.name"),
        ({"config": {**body["config"], "duration": "never"}}, "config.duration"),
    ):
        refused = await app.client.post(check, json={**body, **changes})
        assert refused.status_code == 422
        assert refused.json()["issues"][0]["path"] == field
    assert (await app.client.get(TEMPLATES)).json()["meta"]["total"] == before
