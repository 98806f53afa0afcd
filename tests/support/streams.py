"""Streamed uploads as a client sends them, piece by piece."""

import base64
import hashlib
from typing import Any

import httpx

from framekiln.client.uploads import LocalTrack
from tests.support.app import AppHarness
from tests.support.uploads import FILES


def digest(data: bytes) -> dict[str, str]:
    text = base64.b64encode(hashlib.sha256(data).digest()).decode()
    return {"Content-Digest": f"sha-256=:{text}:"}


async def begin(app: AppHarness, *types: str, **body: Any) -> str:
    listed = [{"track_id": n, "type": kind} for n, kind in enumerate(types, 1)]
    answer = await app.client.post(
        f"{FILES}/stream", json={"filename": "film.mp4", "tracks": listed, **body}
    )
    assert answer.status_code == 201, answer.text
    assert answer.json()["status"] == "receiving"
    return str(answer.json()["id"])


async def put(app: AppHarness, file_id: str, place: str, data: bytes) -> httpx.Response:
    path = f"{FILES}/{file_id}/stream/{place}"
    # Clients label everything as JSON.
    headers = {"Content-Type": "application/json", **digest(data)}
    return await app.client.put(path, content=data, headers=headers)


async def put_fragments(
    app: AppHarness, file_id: str, track: LocalTrack, count: int | None = None
) -> httpx.Response:
    """Send the init segment and the first fragments of a track."""
    answer = await put(app, file_id, f"{track.track_id}/init", track.read(track.init))
    for number, piece in enumerate(track.fragments[:count]):
        assert answer.status_code == 201, answer.text
        answer = await put(app, file_id, f"{track.track_id}/{number}", track.read(piece))
    return answer


async def seal(app: AppHarness, file_id: str, **counts: int) -> httpx.Response:
    body = {"tracks": {name.lstrip("t"): {"fragments": n} for name, n in counts.items()}}
    return await app.client.post(f"{FILES}/{file_id}/stream/seal", json=body)


async def state(app: AppHarness, file_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await app.client.get(f"{FILES}/{file_id}/stream")).json()
    return found


def error_of(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]
