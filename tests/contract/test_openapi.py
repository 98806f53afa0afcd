"""The OpenAPI document is correct: generated requests get the responses that it describes."""

import asyncio
import copy
import re
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pytest
import requests
import uvicorn
from hypothesis import HealthCheck, Phase, settings

from framekiln.api.app import SESSION_ROUTERS, V1_ROUTERS, V2_ROUTERS
from framekiln.api.unknown_fields import NAMES_UNKNOWN, WarningRoute
from tests.contract.conftest import TEMPLATE
from tests.support.api_document import api_document, described_operations
from tests.support.app import AppHarness, open_app
from tests.support.pipelines import (
    PipelineHarness,
    ScriptedRunner,
    enable_pipelines,
    open_pipelines,
    step,
)
from tests.support.postgres import PostgresServer
from tests.support.timeouts import TIMEOUT_S

if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.specs.openapi.schemas import OpenApiSchema

UNHEALTHY: Final = list(HealthCheck)


@dataclass(frozen=True)
class Address:
    """Where the server listens, a key for it, and ids of things that are there."""

    url: str
    key: str
    ids: Mapping[str, str]


async def create_resources(app: AppHarness) -> dict[str, str]:
    """Put something of each kind there, and return the ids by the names in addresses and bodies."""
    # Without pipelines, their routes would all be 404 and nothing would be seen of them.
    await enable_pipelines(app)
    line = PipelineHarness(app, runners={"probe": ScriptedRunner()})
    file_id = await line.add_file()
    review = step("review", "look", with_={"instructions": "May it be shown?"})
    pipeline_id = await line.create_pipeline({"steps": {"look": step("probe"), "ok": review}})
    run = await line.start_run(pipeline_id, file_id)
    await line.run_all_jobs()
    await line.tick()
    [task] = (await line.get("pipeline-reviews"))["reviews"]
    batch = await line.create(
        "pipeline-batches", {"pipeline_id": pipeline_id, "runs": [{"file_id": file_id}]}
    )
    endpoint = await line.create("pipeline-endpoints", {"url": "https://127.0.0.1/"})
    return {
        "file_id": file_id,
        "pipeline_id": pipeline_id,
        "run_id": run["id"],
        "review_id": task["id"],
        "batch_id": batch["batch"]["id"],
        "endpoint_id": endpoint["id"],
        "namespace": "look",
        "number": "1",
    }


async def serve(
    postgres: PostgresServer, folder: Path, ready: "Future[tuple[uvicorn.Server, Address]]"
) -> None:
    allow = frozenset({"127.0.0.1"})
    async with open_app(postgres, folder, template=TEMPLATE, fetch_allow=allow) as app:
        ids = await create_resources(app)
        # Named as TCP, or asyncio leaves small writes waiting for each other (40 ms a request).
        with socket.socket(proto=socket.IPPROTO_TCP) as listening:
            listening.bind(("127.0.0.1", 0))
            # From now on connections are taken, and wait.
            listening.listen()
            server = uvicorn.Server(uvicorn.Config(app.asgi, log_config=None, lifespan="off"))
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            ready.set_result((server, Address(url, app.key, ids)))
            await server.serve(sockets=[listening])


@pytest.fixture(scope="module")
def address(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Address]:
    """A server with a loop of its own, because what makes up requests is not async."""
    ready: Future[tuple[uvicorn.Server, Address]] = Future()
    folder = tmp_path_factory.mktemp("kiln")
    thread = threading.Thread(target=lambda: asyncio.run(serve(postgres, folder, ready)))
    thread.start()
    server, address = ready.result(timeout=TIMEOUT_S)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def session() -> Iterator[requests.Session]:
    """Connections that are kept: thousands of new ones cost more than the requests."""
    with requests.Session() as session:
        # Else the proxies of the environment are looked up for each request.
        session.trust_env = False
        yield session


# A response without an end; `test_studio` reads its beginning.
ENDLESS = {"GET /api/v1/activity"}
# The response to wrong data says what is wrong, with the status 200.
JUDGES = {"POST /api/v1/pipelines/validate"}
# One route for configs and one for templates gets all fields of a config, the others these: to
# make up the rest takes seconds, and all read configs alike.
# For configs it is the route of frames: a short config is often right, and then this route waits
# for a worker, which is not there.
WHOLE_CONFIGS = {"POST /v2/templates", "POST /v2/videos/frame"}
CONFIG_FIELDS = ("layers", "duration", "dimensions")
OPERATIONS = [each for each in described_operations() if each not in ENDLESS]


@cache
def document(*, has_whole_configs: bool = False) -> "OpenApiSchema":
    """Return the document as what makes up requests reads it."""
    # Takes seconds to import: only who runs these tests has to, not who collects them.
    import schemathesis  # noqa: PLC0415

    shortened = with_shallow_bodies(api_document())
    if not has_whole_configs:
        for name in ("LayerConfig", "TemplateLayerConfig"):
            config = shortened["components"]["schemas"][name]
            config["properties"] = {each: config["properties"][each] for each in CONFIG_FIELDS}
    read = schemathesis.openapi.from_dict(shortened)
    # Every route would be asked with every method; that other methods are 405 is tested elsewhere.
    read.config.phases.coverage.unexpected_methods = set()
    return read


def with_shallow_bodies(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document in which a layer and the steps of a pipeline are any object.

    Layers hold layers of twelve types, filters hold filters: requests would be made up for minutes.
    That these schemas and their readers agree is tested in `test_json_schema` (layers) and
    `test_definition_schema` (pipelines).
    """
    shortened = copy.deepcopy(dict(document))
    schemas = shortened["components"]["schemas"]
    for name in ("Layer", "TemplateLayer"):
        schemas[name] = {"type": "object"}
    schemas["PipelineDefinition"]["properties"]["steps"] = {"type": "object"}
    return shortened


@pytest.mark.parametrize("operation", OPERATIONS)
def test_generated_requests_get_described_responses(
    operation: str, address: Address, session: requests.Session
) -> None:
    """Right and wrong ones: never a 5xx, always as described."""
    from schemathesis.generation.feedback import FeedbackSources  # noqa: PLC0415
    from schemathesis.pytest._test_builder import build_operation_test  # noqa: PLC0415
    from schemathesis.specs.openapi.checks import (  # noqa: PLC0415
        ignored_auth,
        negative_data_rejection,
        positive_data_acceptance,
    )

    # A text with U+0000 is right by any schema, and still refused. The check of authentication
    # repeats each request without the key and with a wrong one; `test_route_access` does so once
    # for each route.
    excluded: list[Any] = [positive_data_acceptance, ignored_auth]
    if operation in JUDGES:
        excluded.append(negative_data_rejection)

    seen: set[tuple[str | None, ...]] = set()

    # What is made up has each type, limit and value of an enum of every field. A few at random
    # besides would be the same ones each time.
    @settings(
        phases=[Phase.explicit], deadline=None, derandomize=True, suppress_health_check=UNHEALTHY
    )
    def ask(case: "Case[Any]") -> None:
        if is_redundant(case, seen):
            return
        use_existing_ids(case, address.ids)
        case.call_and_validate(
            base_url=address.url,
            headers={"Authorization": f"Bearer {address.key}"},
            session=session,
            timeout=TIMEOUT_S,
            excluded_checks=excluded,
        )

    method, _, path = operation.partition(" ")
    described = document(has_whole_configs=operation in WHOLE_CONFIGS)
    # What the library's own `parametrize` does, but that one builds all tests while collecting and
    # gives them one id, so that pytest-xdist runs one of them.
    build_operation_test(
        config=described.config,
        operation=described[path][method],
        test_func=ask,
        given_kwargs={},
        feedback=FeedbackSources(),
    )()


def is_redundant(case: "Case[Any]", seen: set[tuple[str | None, ...]]) -> bool:
    """Return whether another request shows the same; add to `seen` what this one shows.

    Parameters are texts, so a wrong type is only another wrong text; those of a query are made up
    twice, alone and beside others. Bodies have types: each wrong one is tried.
    """
    from schemathesis.generation.meta import CoveragePhaseData  # noqa: PLC0415

    if case.meta is None or case.meta.generation.mode.is_positive:
        return False
    data = case.meta.phase.data
    if not isinstance(data, CoveragePhaseData) or data.parameter_location is None:
        return False
    place = data.parameter_location.value
    if place == "body":
        return False
    # That routes need a key is tested in `test_route_access`; no route reads the body of a GET.
    if data.parameter == "Authorization" or (
        data.parameter == "Content-Type" and case.method == "GET"
    ):
        return True
    shown = (data.scenario.value, place, data.parameter)
    was_seen = shown in seen
    seen.add(shown)
    return was_seen


def use_existing_ids(case: "Case[Any]", ids: Mapping[str, str]) -> None:
    """Put ids of real things into right requests of pipelines; made-up ones are all unknown."""
    is_right = case.meta is not None and case.meta.generation.mode.is_positive
    if not is_right or not re.search("pipeline|/metadata", case.path):
        return
    places = [case.path_parameters, case.body]
    for place in places:
        if isinstance(place, dict):
            place |= {name: ids[name] for name in place if name in ids}


async def test_responses_of_a_real_render_match_the_document(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with open_app(postgres, tmp_path, template=TEMPLATE, workers=1) as app:
        path = "/api/v1/renders"
        body = {"html": "<p>x", "width": 320, "height": 180, "duration_ms": 100}
        created = await app.client.post(path, json=body)
        document()[path]["POST"].validate_response(created)
        render = f"{path}/{created.json()['id']}"
        followed = await app.client.get(f"{render}/progress")
        document()[f"{path}/{{render_id}}/progress"]["GET"].validate_response(followed)
        info = await app.client.get(render)
        assert info.json()["status"] == "complete"
        document()[f"{path}/{{render_id}}"]["GET"].validate_response(info)
        download = document()[f"{path}/{{render_id}}.mp4"]["GET"]
        for headers, status in (
            ({}, 200),
            ({"Range": "bytes=0-1"}, 206),
            ({"If-None-Match": "*"}, 304),
            ({"Range": "bytes=999999999-"}, 416),
        ):
            answer = await app.client.get(f"{render}.mp4", headers=headers)
            assert answer.status_code == status
            download.validate_response(answer)


async def test_responses_of_a_real_run_match_the_document(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """What made-up requests seldom reach: everything there is, each as described."""
    runners = {"probe": ScriptedRunner()}
    async with open_pipelines(postgres, tmp_path, template=TEMPLATE, runners=runners) as pipelines:
        ask = _Requests(pipelines)
        review = step("review", "look", with_={"instructions": "May it be shown?"})
        steps = {"steps": {"look": step("probe"), "ok": review}}
        pipeline = await ask("POST", "/pipelines", json={"name": "seen", "definition": steps})
        at = {"pipeline_id": pipeline["id"], "number": "1"}
        for path in ("/pipelines", "/pipelines/{pipeline_id}", "/pipelines/{pipeline_id}/versions"):
            await ask("GET", path, at)
        await ask("GET", "/pipelines/{pipeline_id}/versions/{number}", at)
        await ask("POST", "/pipelines/{pipeline_id}/versions", at, json=steps)
        file_id = await pipelines.add_file()
        body = {"pipeline_id": pipeline["id"], "file_id": file_id}
        run = await ask("POST", "/pipeline-runs", json=body)
        await pipelines.run_all_jobs()
        await pipelines.tick()
        at = {"run_id": run["id"], "namespace": "look", "file_id": file_id}
        for path in (
            "/pipeline-runs",
            "/pipeline-runs/{run_id}",
            "/pipeline-runs/{run_id}/outputs/{namespace}",
            "/files/{file_id}/metadata",
            "/files/{file_id}/metadata/{namespace}",
        ):
            await ask("GET", path, at)
        [task] = (await ask("GET", "/pipeline-reviews"))["reviews"]
        at["review_id"] = task["id"]
        await ask("GET", "/pipeline-reviews/{review_id}", at)
        await ask("POST", "/pipeline-reviews/{review_id}/approve", at, json={})
        await ask("POST", "/pipeline-reviews/{review_id}/reject", at, json={}, refused=True)
        await ask("POST", "/pipeline-runs/{run_id}/retry", at, refused=True)
        await ask("POST", "/pipeline-runs/{run_id}/cancel", at, refused=True)
        batch = {"pipeline_id": pipeline["id"], "runs": [{"file_id": file_id}]}
        made = await ask("POST", "/pipeline-batches", json=batch)
        await ask("GET", "/pipeline-batches")
        await ask("GET", "/pipeline-batches/{batch_id}", {"batch_id": made["batch"]["id"]})
        endpoint = await ask("POST", "/pipeline-endpoints", json={"url": "https://127.0.0.1/"})
        at = {"endpoint_id": endpoint["id"]}
        await ask("GET", "/pipeline-endpoints")
        await ask("GET", "/pipeline-endpoints/{endpoint_id}", at)
        await ask("POST", "/pipeline-endpoints/{endpoint_id}/archive", at)
        wrong = {"name": "wrong", "definition": {"steps": {}}}
        refusal = await ask("POST", "/pipelines", json=wrong, refused=True)
        assert refusal["error"] == "invalid_definition"


class _Requests:
    """Asks, and compares the answer with the document."""

    def __init__(self, pipelines: PipelineHarness) -> None:
        self._line = pipelines

    async def __call__(
        self,
        method: str,
        path: str,
        at: Mapping[str, str] | None = None,
        *,
        json: Any = None,
        refused: bool = False,
    ) -> Any:
        path = f"/api/v1{path}"
        answer = await self._line.app.client.request(method, path.format(**(at or {})), json=json)
        assert answer.is_success is not refused, answer.text
        document()[path][method].validate_response(answer)
        return answer.json()


async def test_responses_with_warnings_are_described(app: AppHarness) -> None:
    file = {"filename": "a", "type": "video", "byte_size": 1, "mimeType": "video/mp4"}
    asked = {"/api/v1/files": file, "/api/v1/url-token": {"url": "/", "parms": {}}}
    for path, body in asked.items():
        answer = await app.client.post(path, json=body)
        document()[path]["POST"].validate_response(answer)
        described = answer_of(api_document()["paths"][path]["post"], answer.status_code)
        assert set(answer.json()) <= set(described["properties"])
        assert described["properties"]["warnings"]["items"] == {"type": "string"}
        assert "warnings" not in described["required"], "most answers have none"


def test_responses_have_warnings_where_documented() -> None:
    """A route that warns says so, and no other does."""
    routers = (*V1_ROUTERS, *V2_ROUTERS, *SESSION_ROUTERS)
    routes = [route for router in routers for route in router.routes]
    marked = [route for route in routes if getattr(route, "openapi_extra", {})]
    warning = [route for route in marked if route.openapi_extra.get(NAMES_UNKNOWN)]  # type: ignore[attr-defined]
    assert len(warning) > 10
    # A render returns its warnings itself.
    others = [route.name for route in warning if not isinstance(route, WarningRoute)]  # type: ignore[attr-defined]
    assert others == ["create_render"]


def answer_of(operation: Mapping[str, Any], status: int) -> dict[str, Any]:
    """Return the schema of an answer."""
    schema = operation["responses"][str(status)]["content"]["application/json"]["schema"]
    name = schema["$ref"].rpartition("/")[2]
    return cast(dict[str, Any], api_document()["components"]["schemas"][name])


def test_the_document_is_valid_openapi() -> None:
    described = api_document()
    assert NAMES_UNKNOWN not in str(described)
    document().validate()
    names = [
        f"{method.upper()} {path}" for path, item in described["paths"].items() for method in item
    ]
    assert sorted(names) == sorted([*OPERATIONS, *ENDLESS])
    operations = [operation for path in described["paths"].values() for operation in path.values()]
    assert all(operation["summary"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
