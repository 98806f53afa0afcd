"""The API reference, its examples, and the JSON Schemas for editors."""

import re
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator, meta

from framekiln.api.openapi_examples import EXAMPLES
from framekiln.api.reference import SCHEMA_NAMES
from framekiln.webhooks.topics import TOPICS
from tests.support.app import AppHarness
from tests.support.pipelines import enable_pipelines


async def schema(app: AppHarness, name: str) -> dict[str, Any]:
    answer = await app.client.get(f"/schemas/{name}.json")
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


async def test_the_service_accepts_every_example(app: AppHarness) -> None:
    await enable_pipelines(app)
    ids: dict[str, str] = {}
    for path, example in EXAMPLES.items():
        answer = await app.client.post(path.format(**ids), json=example)
        # Nobody can resolve example.com here; webhooks are checked by their own tests.
        if path == "/api/v1/webhooks":
            assert "invalid_request" not in answer.text
            continue
        assert answer.status_code in (200, 201), (path, answer.text)
        assert not answer.json().get("warnings"), path
        if path == "/v2/templates":
            ids["template_id"] = answer.json()["data"]["id"]


async def test_the_document_has_examples_and_all_events(app: AppHarness) -> None:
    document = (await app.client.get("/openapi.json")).json()
    assert set(document["webhooks"]) == set(TOPICS)
    for path, example in EXAMPLES.items():
        content = document["paths"][path]["post"]["requestBody"]["content"]
        assert content["application/json"]["example"] == example
    for item in document["webhooks"].values():
        content = item["post"]["requestBody"]["content"]["application/json"]
        Draft202012Validator(content["schema"]).validate(content["example"])


@pytest.mark.parametrize("name", SCHEMA_NAMES)
async def test_schemas_are_complete_documents(app: AppHarness, name: str) -> None:
    found = await schema(app, name)
    meta.validate(found)
    references = set(re.findall(r"'\$ref': '([^']+)'", str(found)))
    assert references == {f"#/$defs/{each}" for each in found["$defs"]}


async def test_schemas_accept_the_examples_and_refuse_mistakes(app: AppHarness) -> None:
    config = EXAMPLES["/v2/videos/new"]["config"]
    video = Draft202012Validator(await schema(app, "layer-config"))
    assert video.is_valid({"$schema": "http://here/schemas/layer-config.json", **config})
    assert not video.is_valid({**config, "duration": "long"})
    template = Draft202012Validator(await schema(app, "template"))
    assert template.is_valid({"$schema": "x", **EXAMPLES["/v2/templates"]})
    assert not template.is_valid({"name": "no config"})
    definition = EXAMPLES["/api/v1/pipelines"]["definition"]
    pipeline = Draft202012Validator(await schema(app, "pipeline-definition"))
    assert pipeline.is_valid({"$schema": "x", **definition})
    assert not pipeline.is_valid({"steps": {"a": {"type": "prob"}}})


async def test_the_schema_field_is_accepted_without_warning(app: AppHarness) -> None:
    await enable_pipelines(app)
    body = {"config": {"$schema": "x", **EXAMPLES["/v2/videos/new"]["config"]}}
    made = await app.client.post("/v2/videos/new", json=body)
    assert (made.status_code, made.json().get("warnings")) == (201, None)
    template = {"$schema": "x", **EXAMPLES["/v2/templates"]}
    template["config"] = {"$schema": "x", **template["config"]}
    stored = await app.client.post("/v2/templates", json=template)
    assert (stored.status_code, stored.json().get("warnings")) == (201, None), stored.text
    again = await app.client.put(f"/v2/templates/{stored.json()['data']['id']}", json=template)
    assert (again.status_code, again.json().get("warnings")) == (200, None), again.text
    definition = {"$schema": "x", **EXAMPLES["/api/v1/pipelines"]["definition"]}
    pipeline = {"name": "with a schema", "definition": definition}
    created = await app.client.post("/api/v1/pipelines", json=pipeline)
    assert created.status_code == 201, created.text
    assert "$schema" not in created.text
    wrong = {"$schema": 1, **EXAMPLES["/api/v1/pipelines"]["definition"]}
    refused = await app.client.post("/api/v1/pipelines", json={"name": "n", "definition": wrong})
    assert refused.status_code == 422


async def test_the_reference_loads_nothing_from_other_hosts(app: AppHarness) -> None:
    page = await app.client.get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {"/", "/docs/reference.css", "/docs/reference.js", "/openapi.json"} == set(linked)
    for name in ("reference.css", "reference.js"):
        part = await app.client.get(f"/docs/{name}")
        assert part.status_code == 200
        assert "http" not in part.text
    assert (await app.client.get("/docs/other.js")).status_code == 404
    named = re.findall(r"\((/[^)]+)\)", (await app.client.get("/llms.txt")).text)
    assert len(named) == 4
    for path in named:
        assert (await app.client.get(path)).status_code == 200
    assert (await app.client.get("/schemas/other.json")).status_code == 404
