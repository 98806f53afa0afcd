"""Clause 4.3, stills: one picture of a composition, as JPEG, PNG or WebP."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.app import AppHarness
from tests.support.frame_codes import PageDriver, Picture, frame_code_page, read_frame_code
from tests.support.looks import colour_at, decode_still

pytestmark = pytest.mark.spec("4.3", "8")

RENDERS = "/api/v1/renders"
STILLS = ("jpeg", "png", "webp")
MAGIC = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG", "webp": b"RIFF"}
# Left half opaque, right half empty, and a half transparent square in the middle of each.
HALVES = """<!doctype html><style>
  body { margin: 0; } i { position: absolute; }
  .left { left: 0; top: 0; width: 80px; height: 120px; background: rgb(200, 30, 60); }
  .veil { left: 100px; top: 40px; width: 40px; height: 40px; background: rgb(0 0 255 / 50%); }
</style><i class="left"></i><i class="veil"></i>"""
# Hard to compress: what options do shows in the size.
NOISE = """<!doctype html><style>body { margin: 0; }</style><canvas width=320 height=180></canvas>
<script>
  const context = document.querySelector("canvas").getContext("2d");
  for (let y = 0; y < 180; y += 3) for (let x = 0; x < 320; x += 3) {
    context.fillStyle = `hsl(${(x * x + y * 7) % 360} 80% ${(x * y) % 100}%)`;
    context.fillRect(x, y, 3, 3);
  }
</script>"""


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


async def create_still(
    app: AppHarness,
    html: str,
    container: str,
    *,
    options: dict[str, Any] | None = None,
    **asked: Any,
) -> tuple[dict[str, Any], bytes]:
    """Return what is said of a still, and its bytes."""
    info = await app.render(html, output={"container": container, **(options or {})}, **asked)
    return info, await app.output(info)


def decoded(data: bytes, folder: Path, container: str) -> Picture:
    path = folder / f"still.{container}"
    path.write_bytes(data)
    return decode_still(path)


@pytest.mark.parametrize("container", STILLS)
async def test_a_still_shows_the_requested_instant(
    app: AppHarness, container: str, tmp_path: Path
) -> None:
    html = frame_code_page(PageDriver.WAAPI, Fraction(30), frame_count=90)
    asked: dict[str, Any] = {"width": 321, "height": 181, "duration_ms": 1500}
    info, data = await create_still(app, html, container, **asked)
    assert {name: info[name] for name in asked} == asked
    assert info["byte_size"] == len(data)
    assert info["download_url"].endswith(f"{info['id']}.{container}")
    assert data.startswith(MAGIC[container])
    picture = decoded(data, tmp_path, container)
    assert picture.shape[:2] == (181, 321)
    assert read_frame_code(picture) == 45


@pytest.mark.parametrize("driver", [PageDriver.RAF_DOM, PageDriver.CSS])
@pytest.mark.parametrize(("at_ms", "code"), [(None, 0), (0, 0), (16, 0), (17, 1), (990, 30)])
async def test_a_still_is_exact_to_the_millisecond(
    app: AppHarness, driver: PageDriver, at_ms: int | None, code: int, tmp_path: Path
) -> None:
    """Not only at the times of frames; without a time it is the beginning."""
    html = frame_code_page(driver, Fraction(30), frame_count=60)
    asked: dict[str, Any] = {} if at_ms is None else {"duration_ms": at_ms}
    info, data = await create_still(app, html, "png", width=320, height=180, **asked)
    assert read_frame_code(decoded(data, tmp_path, "png")) == code
    assert info["duration_ms"] == (at_ms or 0)


async def test_a_still_of_a_page_without_a_duration_is_rendered(app: AppHarness) -> None:
    info, _ = await create_still(app, "<p>for ever", "png")
    assert (info["width"], info["height"], info["fps"]) == (1280, 720, 30)


@pytest.mark.spec("2.5")
@pytest.mark.parametrize("container", STILLS)
async def test_the_size_comes_from_the_composition(
    app: AppHarness, container: str, tmp_path: Path
) -> None:
    """Only H.264 has even sizes alone."""
    html = '<ef-timegroup style="width:203px;height:97px;background:#0f0"></ef-timegroup>'
    info, data = await create_still(app, html, container)
    assert (info["width"], info["height"], info["warnings"]) == (203, 97, [])
    picture = decoded(data, tmp_path, container)
    assert picture.shape[:2] == (97, 203)
    assert np.abs(np.array(colour_at(picture, 200, 94)) - (0, 255, 0)).max() <= 3


@pytest.mark.parametrize("container", ["png", "webp"])
async def test_transparency_is_kept_when_asked_for(
    app: AppHarness, container: str, tmp_path: Path
) -> None:
    options = {"transparency": True, "quality": 100}
    _, data = await create_still(app, HALVES, container, options=options, width=160, height=120)
    picture = decoded(data, tmp_path, container)
    assert [int(picture[60, x, 3]) for x in (40, 90, 150)] == [255, 0, 0]
    assert abs(int(picture[60, 120, 3]) - 128) <= 2
    assert np.abs(np.array(colour_at(picture, 40, 60)) - (200, 30, 60)).max() <= 4
    # The colour of what is half transparent is not mixed with any background.
    assert np.abs(np.array(colour_at(picture, 120, 60)) - (0, 0, 255)).max() <= 4


@pytest.mark.parametrize("container", STILLS)
async def test_transparent_areas_are_white_by_default(
    app: AppHarness, container: str, tmp_path: Path
) -> None:
    _, data = await create_still(app, HALVES, container, width=160, height=120)
    picture = decoded(data, tmp_path, container)
    assert (picture[..., 3] == 255).all()
    assert min(colour_at(picture, 150, 60)) >= 252


async def test_an_extension_of_another_container_is_a_404(app: AppHarness) -> None:
    info, data = await create_still(app, HALVES, "png", width=160, height=120)
    base = f"/api/v1/renders/{info['id']}"
    for path in (f"{base}.png", f"{base}/png", f"{base}.mp4", f"{base}/mp4"):
        answer = await app.client.get(path)
        assert (answer.content, answer.headers["content-type"]) == (data, "image/png")
    for path in (f"{base}.jpeg", f"{base}.webp", f"{base}/jpeg"):
        answer = await app.client.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
        assert f"{base}.png" in answer.json()["message"]
        assert (await app.client.head(path)).status_code == 404
    # Before it is made, too: what it will be is known.
    film = await app.create()
    assert (await app.client.get(f"/api/v1/renders/{film}.jpeg")).status_code == 404
    assert (await app.client.get(f"/api/v1/renders/{film}.mp4")).status_code == 409


OPTIONS: dict[str, tuple[str, dict[str, int], dict[str, int]]] = {
    "jpeg quality": ("jpeg", {"quality": 5}, {"quality": 95}),
    "webp quality": ("webp", {"quality": 5}, {"quality": 95}),
    "png compression": ("png", {"compression": 100}, {"compression": 1}),
    "webp compression": ("webp", {"compression": 6}, {"compression": 0}),
}


@pytest.mark.parametrize(("container", "small", "large"), OPTIONS.values(), ids=OPTIONS)
async def test_options_change_the_size(
    app: AppHarness, container: str, small: dict[str, int], large: dict[str, int]
) -> None:
    sizes = [
        len((await create_still(app, NOISE, container, options=options, width=320, height=180))[1])
        for options in (small, large)
    ]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("container", "defaults"),
    [
        ("jpeg", {"quality": 80}),
        ("png", {"compression": 80, "transparency": False}),
        ("webp", {"quality": 80, "compression": 4, "transparency": False}),
    ],
)
async def test_defaults_are_as_specified(
    app: AppHarness, container: str, defaults: dict[str, Any]
) -> None:
    asked: dict[str, Any] = {"width": 320, "height": 180}
    _, by_default = await create_still(app, NOISE, container, **asked)
    _, spelled_out = await create_still(app, NOISE, container, options=defaults, **asked)
    assert by_default == spelled_out


async def test_png_is_lossless(app: AppHarness, tmp_path: Path) -> None:
    pictures = []
    for compression in (1, 100):
        options = {"compression": compression}
        _, data = await create_still(app, NOISE, "png", options=options, width=320, height=180)
        pictures.append(decoded(data, tmp_path, "png"))
    quick, thorough = pictures
    assert np.array_equal(quick, thorough)


@pytest.mark.parametrize("container", STILLS)
async def test_every_download_route_returns_the_still_with_its_content_type(
    app: AppHarness, container: str
) -> None:
    """Existing clients know only the .mp4 route, and use it for stills too."""
    info, data = await create_still(app, HALVES, container, width=160, height=120)
    for end in (f".{container}", f"/{container}", ".mp4", "/mp4"):
        path = f"{RENDERS}/{info['id']}{end}"
        got, head = await app.client.get(path), await app.client.head(path)
        assert (got.status_code, got.content) == (200, data)
        for answer in (got, head):
            assert answer.headers["content-type"] == f"image/{container}"
            assert answer.headers["content-length"] == str(len(data))
            assert f"{info['id']}.{container}" in answer.headers["content-disposition"]


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"container": "png", "compression": 0}, "output.compression"),
    ({"container": "png", "compression": 101}, "output.compression"),
    ({"container": "png", "compression": 50.5}, "output.compression"),
    ({"container": "png", "compression": "80"}, "output.compression"),
    ({"container": "webp", "compression": 7}, "output.compression"),
    ({"container": "webp", "compression": -1}, "output.compression"),
    ({"container": "webp", "quality": 0}, "output.quality"),
    ({"container": "jpeg", "quality": 101}, "output.quality"),
    ({"container": "jpeg", "quality": True}, "output.quality"),
    ({"container": "png", "transparency": "yes"}, "output.transparency"),
    ({"container": "png", "transparency": 1}, "output.transparency"),
    ({"container": "jpg"}, "output.container"),
    ({"container": "gif"}, "output.container"),
]


@pytest.mark.spec("7")
@pytest.mark.parametrize(("output", "field"), WRONG, ids=str)
async def test_a_wrong_option_is_named(app: AppHarness, output: dict[str, Any], field: str) -> None:
    before = await app.count_stored()
    answer = await app.client.post(RENDERS, json={"html": "<p>x", "output": output})
    assert answer.status_code == 400
    body = answer.json()
    assert (body["error"], body["field"]) == ("invalid_request", field)
    assert body["message"].startswith(field)
    assert await app.count_stored() == before


async def test_a_still_at_a_negative_time_is_refused(app: AppHarness) -> None:
    body = {"html": "<p>x", "duration_ms": -1, "output": {"container": "png"}}
    answer = await app.client.post(RENDERS, json=body)
    assert (answer.status_code, answer.json()["field"]) == (400, "duration_ms")


@pytest.mark.spec("7")
async def test_a_still_fails_with_the_error_that_its_page_throws(app: AppHarness) -> None:
    html = "<script>throw new Error('no picture')</script>"
    info = await app.render(html, output={"container": "webp"})
    assert (info["status"], info["error"]["code"]) == ("failed", "page_threw")
    assert "no picture" in info["error"]["message"]
