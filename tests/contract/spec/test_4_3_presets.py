"""Clause 4.3, renders: the preset decides how a film is encoded."""

from typing import Any

import pytest

from tests.support.app import AppHarness

pytestmark = pytest.mark.spec("4.3")

RENDERS = "/api/v1/renders"
TINY: dict[str, Any] = {"html": "<p>hi", "width": 64, "height": 64, "fps": 10, "duration_ms": 100}


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


@pytest.mark.parametrize(("preset", "crf"), [("draft", 27), (None, 18), ("high", 16)])
async def test_the_preset_decides_how_the_film_is_encoded(
    app: AppHarness, preset: str | None, crf: int
) -> None:
    info = await app.render(**TINY, preset=preset)
    assert f"crf={crf}.0".encode() in await app.output(info)


@pytest.mark.parametrize(
    ("preset", "reason"),
    [("drafts", "did you mean draft?"), (5, "draft, standard, high"), ("x", "must be one of")],
)
async def test_an_unknown_preset_is_refused(app: AppHarness, preset: object, reason: str) -> None:
    answer = await app.client.post(RENDERS, json={**TINY, "preset": preset})
    assert (answer.status_code, answer.json()["field"]) == (400, "preset")
    assert reason in answer.json()["message"]
