"""The OpenAPI document tells the truth: requests made up from it are answered as it says."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from framekiln.api.app import create_app
from framekiln.services import Services
from tests.contract.conftest import TEMPLATE
from tests.support.app import open_kiln
from tests.support.postgres import PostgresServer


@dataclass(frozen=True)
class Address:
    """Where the server listens, and a key for it."""

    url: str
    key: str


async def serve(
    postgres: PostgresServer, folder: Path, ready: "Future[tuple[uvicorn.Server, Address]]"
) -> None:
    async with open_kiln(postgres, folder, template=TEMPLATE) as kiln:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            server = uvicorn.Server(uvicorn.Config(kiln.app, log_config=None, lifespan="off"))
            url = f"http://127.0.0.1:{listening.getsockname()[1]}"
            ready.set_result((server, Address(url, kiln.key)))
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
    server, address = ready.result(timeout=60)
    try:
        yield address
    finally:
        server.should_exit = True
        thread.join()


# The document depends on the routes alone, so it can be had before anything runs.
DOCUMENT = schemathesis.openapi.from_dict(create_app(cast(Services, None)).openapi())


@DOCUMENT.parametrize()
@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_made_up_requests(case: schemathesis.Case, address: Address) -> None:
    """Right and wrong ones, with the key and without: never a 5xx, always as described."""
    key = {"Authorization": f"Bearer {address.key}"}
    # A text with U+0000 is right by any schema, and still refused.
    case.call_and_validate(
        base_url=address.url, headers=key, excluded_checks=[positive_data_acceptance]
    )


async def test_the_answers_of_a_real_render(postgres: PostgresServer, tmp_path: Path) -> None:
    async with open_kiln(postgres, tmp_path, template=TEMPLATE, workers=1) as kiln:
        path = "/api/v1/renders"
        body = {"html": "<p>x", "width": 320, "height": 180, "duration_ms": 100}
        created = await kiln.client.post(path, json=body)
        DOCUMENT[path]["POST"].validate_response(created)
        render = f"{path}/{created.json()['id']}"
        followed = await kiln.client.get(f"{render}/progress")
        DOCUMENT[f"{path}/{{render_id}}/progress"]["GET"].validate_response(followed)
        info = await kiln.client.get(render)
        assert info.json()["status"] == "complete"
        DOCUMENT[f"{path}/{{render_id}}"]["GET"].validate_response(info)
        download = DOCUMENT[f"{path}/{{render_id}}.mp4"]["GET"]
        for headers, status in (
            ({}, 200),
            ({"Range": "bytes=0-1"}, 206),
            ({"If-None-Match": "*"}, 304),
            ({"Range": "bytes=999999999-"}, 416),
        ):
            answer = await kiln.client.get(f"{render}.mp4", headers=headers)
            assert answer.status_code == status
            download.validate_response(answer)


def test_the_document_is_in_order() -> None:
    DOCUMENT.validate()
    operations = [
        operation for path in DOCUMENT.raw_schema["paths"].values() for operation in path.values()
    ]
    assert all(operation["summary"] for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
