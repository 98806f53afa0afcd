"""Renders with destinations, completed without workers."""

from fractions import Fraction
from typing import Any
from uuid import uuid4

from framekiln.kit.ids import RenderId
from framekiln.renders.model import RenderResult
from framekiln.storage.keys import TrackedKey
from tests.support.app import AppHarness

CONTENT = b"not really a film, but every byte of it" * 1000


async def create(app: AppHarness, *destinations: dict[str, Any]) -> str:
    return await app.create(html="<p>x", duration_ms=100, destinations=list(destinations))


async def complete(app: AppHarness, render_id: RenderId) -> None:
    """Do what workers do."""
    key = f"org/{uuid4()}/renders/{render_id}/output-1.mp4"
    await app.services.blobs.put(TrackedKey(key), CONTENT)
    work = app.services.render_worker
    await work.start(render_id, job_id=1, attempt=1)
    result = RenderResult(2, 2, Fraction(30), 100, key, len(CONTENT), {})
    assert await work.complete(render_id, result)


async def copies(app: AppHarness, render_id: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await app.info(render_id))["destinations"]
    return found
