"""Clause 4.3, `data`: what a request gives a page, whichever worker opens it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.spec.test_4_3_bundles import render as render_bundle
from tests.support.app import AppHarness
from tests.support.frame_codes import Picture
from tests.support.looks import colour_at, decode_frames, decode_still

pytestmark = pytest.mark.spec("4.3")

RENDERS = "/api/v1/renders"
ASKED = {"width": 64, "height": 64, "fps": 5}
# Left what the data say, right whether they are an object like any other, in their own order.
PAGE = """<!doctype html>
<style>body { margin: 0 } i { float: left; width: 32px; height: 64px }</style>
<i id=left></i><i id=right></i><script>
  const { colours, ...rest } = window.EF_RENDER_DATA;
  left.style.background = colours[0].css;
  console.log("the colour is", colours[0].css);
  const isWhole = RENDER_DATA === EF_RENDER_DATA && Object.keys(rest).join() === "z,a,__proto__"
    && rest.z === "\\u2028<" + "/script>"
    && Object.getPrototypeOf(EF_RENDER_DATA) === Object.prototype;
  right.style.background = isWhole ? "#00f" : "#000";
</script>"""
DATA = json.loads(
    '{"colours": [{"css": "#f00"}], "z": "\\u2028</script>", "a": 1.5, "__proto__": {"b": null}}'
)


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


def shows_the_data(rgb: Picture) -> bool:
    return colour_at(rgb, 16, 32)[0] > 240 and colour_at(rgb, 48, 32)[2] > 240


async def test_every_slice_of_a_film_has_the_data(app: AppHarness, tmp_path: Path) -> None:
    asked = {**ASKED, "duration_ms": 3000, "work_slice_ms": 1000}
    info = await app.render(PAGE, data=DATA, **asked)
    assert info["status"] == "complete", info["error"]
    (tmp_path / "film.mp4").write_bytes(await app.output(info))
    frames = decode_frames(tmp_path / "film.mp4")
    assert len(frames) == 15
    assert all(shows_the_data(frame.rgb) for frame in frames)
    await check_slices(app, info["id"])
    sent = (await app.client.get(f"{RENDERS}/{info['id']}/request")).json()
    assert sent["data"] == DATA
    assert {name: sent[name] for name in asked} == asked
    assert (sent["source"], sent["output"], sent["preset"]) == (
        "html",
        {"container": "mp4"},
        "standard",
    )


async def check_slices(app: AppHarness, render_id: str) -> None:
    """The owner sees when and how each slice was made, and what the page wrote meanwhile."""
    slices = (await app.client.get(f"{RENDERS}/{render_id}/slices")).json()["slices"]
    assert [each["first_frame"] for each in slices] == [0, 5, 10]
    assert {(each["status"], each["frames_done"], each["attempt"]) for each in slices} == {
        ("done", 5, 1)
    }
    assert {each["method"] for each in slices} == {"captured"}
    assert all(each["taken_at"] < each["finished_at"] for each in slices)
    lines = [line for each in slices for line in each["console"]]
    assert {"level": "info", "text": "the colour is #f00"} in lines
    stranger = await app.other_organization()
    for path in ("slices", "request", "again"):
        method = "POST" if path == "again" else "GET"
        answer = await stranger.client.request(method, f"{RENDERS}/{render_id}/{path}")
        assert answer.status_code == 404
    await stranger.client.aclose()


async def test_a_bundle_has_the_data_of_its_request(app: AppHarness, tmp_path: Path) -> None:
    script = PAGE.partition("<script>")[2].rpartition("</script>")[0]
    page = PAGE.partition("<script>")[0] + "<script type=module src=app.js></script>"
    files = {"index.html": page.encode(), "app.js": script.encode()}
    info = await render_bundle(app, files, data=DATA, output={"container": "png"}, **ASKED)
    assert info["status"] == "complete", info["error"]
    (tmp_path / "still.png").write_bytes(await app.output(info))
    assert shows_the_data(decode_still(tmp_path / "still.png"))
    again = await app.client.post(f"{RENDERS}/{info['id']}/again")
    assert again.status_code == 201, again.text
    repeated = await app.wait_ended(again.json()["id"])
    assert repeated["id"] != info["id"]
    assert await app.output(repeated) == await app.output(info)


async def test_a_page_may_define_default_data(app: AppHarness, tmp_path: Path) -> None:
    page = """<!doctype html><script>
      document.documentElement.style.background = (window.EF_RENDER_DATA ?? { css: "#0f0" }).css
    </script>"""
    info = await app.render(page, data=None, output={"container": "png"}, **ASKED)
    (tmp_path / "still.png").write_bytes(await app.output(info))
    assert colour_at(decode_still(tmp_path / "still.png"), 32, 32) == (0, 255, 0)


@pytest.mark.parametrize(
    ("data", "status"),
    [([1], 400), ("{}", 400), (1, 400), ({"a": "x" * (1 << 20)}, 413)],
    ids=["array", "text", "number", "large"],
)
async def test_invalid_data_is_refused_and_nothing_is_stored(
    idle_app: AppHarness, data: Any, status: int
) -> None:
    refused = await idle_app.client.post(RENDERS, json={"html": "<p>", "data": data})
    assert refused.status_code == status, refused.text
    assert "data" in refused.text
    folder = idle_app.services.settings.data / "blobs"
    assert not [path for path in folder.rglob("*") if path.is_file()]


async def test_data_is_deleted_with_its_render(idle_app: AppHarness) -> None:
    render_id = await idle_app.create(data={"a": 1})
    folder = idle_app.services.settings.data / "blobs"
    kept = [path for path in folder.rglob("data.json") if render_id in str(path)]
    assert [path.read_text() for path in kept] == ['{"a":1}']
    assert (await idle_app.client.delete(f"{RENDERS}/{render_id}")).status_code == 200
    assert not kept[0].exists()
