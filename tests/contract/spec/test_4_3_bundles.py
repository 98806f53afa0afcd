"""Clause 4.3, bundles: a gzip tar is uploaded, checked without trusting it, and rendered whole.

`app` has a worker; `idle_app` has none, so what is uploaded there stays as it is.
"""

import asyncio
import gzip
import io
import tarfile
from collections.abc import AsyncIterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from framekiln.renders.model import Render, render_prefix
from tests.support.app import AppHarness, running_workers
from tests.support.clips import Clip, make_clip, make_still
from tests.support.frame_codes import PageDriver, frame_code_page, read_frame_code
from tests.support.jobs import wait_until
from tests.support.looks import colour_at, decode_frames, measure_file
from tests.support.player_bundles import one_source_page
from tests.support.sites import FONT, assert_vite_picture, vite_site
from tests.support.sounds import beep_times
from tests.support.unusual_clips import HEVC, make_pictures

pytestmark = pytest.mark.spec("4.3")

RENDERS = "/api/v1/renders"
SMALL = {"width": 320, "height": 180, "fps": 10, "duration_ms": 300}
GREEN = b"<!doctype html><body style='background:#0f0'>"


@pytest.fixture(scope="module")
def app_options() -> dict[str, Any]:
    return {"workers": 1}


def entry(name: str, *, kind: bytes = tarfile.REGTYPE, size: int = 0) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info


def pack(files: Mapping[str, bytes | None], *extra: tarfile.TarInfo) -> bytes:
    """Return a bundle; None is a folder. What `extra` says of its size need not be true."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            if data is None:
                tar.addfile(entry(name, kind=tarfile.DIRTYPE))
            else:
                tar.addfile(entry(name, size=len(data)), io.BytesIO(data))
        headers = {info: info.tobuf() for info in set(extra)}
        for info in extra:
            packed.write(headers[info])
    return gzip.compress(packed.getvalue(), mtime=0)


async def upload(app: AppHarness, render_id: str, bundle: bytes) -> httpx.Response:
    """Upload as existing clients do: in chunks without a length, labelled as JSON."""

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(bundle), 65_536):
            yield bundle[start : start + 65_536]

    headers = {"Content-Type": "application/json"}
    path = f"{RENDERS}/{render_id}/upload"
    request = app.client.build_request("POST", path, content=chunks(), headers=headers)
    assert "content-length" not in request.headers
    return await app.client.send(request)


async def render(
    app: AppHarness, files: Mapping[str, bytes | None], **asked: Any
) -> dict[str, Any]:
    """Render a bundle and return what came of it."""
    render_id = await app.create(**asked)
    answer = await upload(app, render_id, pack(files))
    assert answer.status_code == 200, answer.text
    return await app.wait_ended(render_id)


class TestFinishedOutputs:
    """The same route takes an MP4 that was rendered elsewhere."""

    @pytest.fixture
    def data(self, flash_clip: Path) -> bytes:
        return flash_clip.read_bytes()

    async def test_an_uploaded_mp4_becomes_the_output(
        self, idle_app: AppHarness, data: bytes
    ) -> None:
        render_id = await idle_app.create(metadata={"a": "b"})
        answer = await upload(idle_app, render_id, data)
        assert (answer.status_code, answer.json()["status"]) == (200, "complete")
        info = await idle_app.info(render_id)
        assert (info["width"], info["height"], info["fps"]) == (320, 240, 30)
        assert (info["duration_ms"], info["byte_size"]) == (2000, len(data))
        assert info["completed_at"]
        assert await idle_app.output(info) == data
        again = await upload(idle_app, render_id, data)
        assert (again.status_code, again.json()["error"]) == (409, "render_has_composition")
        assert (await idle_app.client.delete(f"{RENDERS}/{render_id}")).json() == {"success": True}

    async def test_uploaded_films_that_no_render_could_produce_are_refused(
        self, idle_app: AppHarness, data: bytes, tmp_path: Path
    ) -> None:
        hevc = make_pictures(tmp_path / "hevc.mp4", HEVC).read_bytes()
        render_id = await idle_app.create()
        for wrong in (data[:2000], data[:8] + b"x" * 5000, hevc):
            answer = await upload(idle_app, render_id, wrong)
            assert (answer.status_code, answer.json()["error"]) == (400, "invalid_film")
        still = await idle_app.create(output={"container": "png"})
        assert (await upload(idle_app, still, data)).json()["error"] == "invalid_film"
        # It waits as before.
        assert (await idle_app.info(render_id))["status"] == "created"
        assert (await upload(idle_app, render_id, data)).json()["status"] == "complete"


async def film_of(app: AppHarness, info: dict[str, Any], folder: Path) -> Path:
    path = folder / "film.mp4"
    path.write_bytes(await app.output(info))
    return path


# --- what is rendered ---------------------------------------------------------------------------


async def test_every_file_of_the_bundle_is_served(app: AppHarness, tmp_path: Path) -> None:
    """Style, script, module, image, font and data, by relative paths."""
    picture = make_still(tmp_path / "logo.png", 7, width=160, height=180).read_bytes()
    index = b"""<!doctype html><html data-width=320 data-height=180 data-fps=10
      data-duration-ms=300><link rel=stylesheet href=css/site.css>
      <img src="img/logo%20one.png"><b>iiii</b><p id=fetched></p><p id=modular></p>
      <script src="./js/app.js"></script><script type=module src=/js/module.mjs></script>"""
    files = {
        "./": None,
        "./index.html": index,
        "./css/site.css": b"@import 'more.css'; body { margin: 0 } img { float: left }",
        "./css/more.css": b"p { margin: 0; float: left; width: 80px; height: 180px }"
        b"@font-face { font-family: Own; src: url(../fonts/own.ttf) } b { position: fixed;"
        b"left: 160px; top: 0; background: #0f0; color: #0f0; font: 40px Own, monospace }",
        "./fonts/own.ttf": FONT.read_bytes(),
        "./img/logo one.png": picture,
        "./js/app.js": b"""window.renderReady = fetch("data/colour.json?v=1")
          .then((answer) => answer.json())
          .then(({ colour }) => { fetched.style.background = colour; });""",
        "./js/module.mjs": b"import { colour } from './part.mjs';"
        b"modular.style.background = colour;",
        "./js/part.mjs": b"export const colour = '#00f';",
        "./data/colour.json": b'{"colour": "#f00"}',
    }
    info = await render(app, files)
    assert (info["width"], info["height"], info["fps"]) == (320, 180, 10)
    assert (info["duration_ms"], info["warnings"]) == (300, [])
    frames = decode_frames(await film_of(app, info, tmp_path))
    assert len(frames) == 3
    for frame in frames:
        assert read_frame_code(frame.rgb[:, :160]) == 7
        assert colour_at(frame.rgb, 200, 90)[0] >= 250
        assert colour_at(frame.rgb, 280, 90)[2] >= 250
        # Four letters are 51 px wide, or 96 in the fallback.
        assert colour_at(frame.rgb, 180, 20)[1] >= 250
        assert colour_at(frame.rgb, 230, 20)[0] >= 250


async def test_the_output_of_a_build_is_rendered(app: AppHarness, tmp_path: Path) -> None:
    site = vite_site(tmp_path / "dist")
    paths = [path for path in site.rglob("*") if path.is_file()]
    files = {str(path.relative_to(site)): path.read_bytes() for path in paths}
    info = await render(app, files)
    assert (info["duration_ms"], info["warnings"]) == (200, [])
    for frame in decode_frames(await film_of(app, info, tmp_path)):
        assert_vite_picture(frame.rgb)


async def test_video_and_sound_of_the_bundle_are_seen_and_heard(
    app: AppHarness, tmp_path: Path
) -> None:
    """They were looked for on the network, under the page's own address."""
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(2))).read_bytes()
    index = b"""<ef-timegroup mode="contain" style="width:320px;height:240px">
      <ef-video src="media/clip.mp4"></ef-video></ef-timegroup>"""
    info = await render(app, {"index.html": index, "media/clip.mp4": clip}, fps=30)
    assert info["duration_ms"] == 2000
    path = await film_of(app, info, tmp_path)
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(60))
    assert [round(at_s, 2) for at_s in beep_times(path)] == [0.0, 1.0]


async def test_an_external_runtime_plays_a_clip_of_the_bundle_with_sound(
    app: AppHarness, tmp_path: Path
) -> None:
    clip = make_clip(tmp_path / "clip.mp4", Clip(fps=Fraction(10), duration_s=Fraction(2)))
    page = one_source_page("./clip.mp4", length_ms=1500)
    files = {"index.html": page.encode(), "clip.mp4": clip.read_bytes()}
    info = await render(app, files, fps=10, width=320, height=240, duration_ms=1500)
    path = await film_of(app, info, tmp_path)
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(15))
    assert beep_times(path) == pytest.approx([0, 1], abs=0.005)


async def test_a_missing_file_of_the_bundle_is_named(app: AppHarness) -> None:
    page = b"<ef-timegroup duration=1s><ef-video id=v src=gone.mp4></ef-video></ef-timegroup>"
    info = await render(app, {"index.html": page}, **SMALL)
    assert (info["status"], info["error"]["code"]) == ("failed", "asset_missing")
    assert "ef-video#v" in info["error"]["message"]
    assert "the bundle has no file /gone.mp4" in info["error"]["message"]
    info = await render(app, {"index.html": b"<p><img id=i src=gone.png>"}, **SMALL)
    assert (info["status"], info["error"]["code"]) == ("failed", "asset_missing")
    assert "img#i" in info["error"]["message"]


async def test_options_of_the_request_override_the_bundle(app: AppHarness, tmp_path: Path) -> None:
    page = b"<!doctype html><html data-width=640 data-height=360 data-fps=30 data-duration-ms=9000>"
    info = await render(app, {"index.html": page}, **SMALL)
    assert {name: info[name] for name in SMALL} == SMALL
    video = measure_file(await film_of(app, info, tmp_path)).video
    assert video is not None
    assert (video.width, video.height, video.frame_count) == (320, 180, 3)


async def test_every_slice_sees_the_whole_bundle(app: AppHarness, tmp_path: Path) -> None:
    page = frame_code_page(PageDriver.RAF_DOM, Fraction(10), frame_count=25)
    files = {"index.html": page.replace("<body>", "<body><script src=a.js></script>").encode()}
    asked = {**SMALL, "duration_ms": 2500, "work_slice_ms": 1000}
    info = await render(app, {**files, "a.js": b"window.ready = true"}, **asked)
    frames = decode_frames(await film_of(app, info, tmp_path))
    assert [read_frame_code(frame.rgb) for frame in frames] == list(range(25))


async def test_sound_that_a_script_starts_in_a_later_slice_is_heard(
    app: AppHarness, tmp_path: Path
) -> None:
    """It was mixed of what played at frame 0. Here two workers film three slices."""
    sound = make_clip(tmp_path / "a.m4a", Clip(video_codec=None)).read_bytes()
    page = b"<p>x<script>setTimeout(() => new Audio('a.m4a').play(), 2300)</script>"
    asked = {**SMALL, "duration_ms": 3000, "work_slice_ms": 1000}
    async with running_workers(app.services):
        info = await render(app, {"index.html": page, "a.m4a": sound}, **asked)
    path = await film_of(app, info, tmp_path)
    assert beep_times(path) == pytest.approx([2.3], abs=0.005)


async def test_a_bundle_can_be_rendered_as_a_still(app: AppHarness) -> None:
    output = {"container": "png"}
    info = await render(app, {"index.html": GREEN}, output=output, width=33, height=21)
    assert (await app.output(info)).startswith(b"\x89PNG")
    assert (info["width"], info["height"]) == (33, 21)


HIDDEN = {
    "a path out of it": "/..%2f..%2f..%2fetc/passwd",
    "an absolute path": "/%2fetc/passwd",
    "a zero byte": "/a%00b",
    "a name too long for a file": "/" + "x" * 5000,
    "a folder": "/css/",
}


@pytest.mark.parametrize("path", HIDDEN.values(), ids=HIDDEN)
async def test_nothing_outside_the_bundle_is_served(
    app: AppHarness, path: str, tmp_path: Path
) -> None:
    """A name that no file can have ended the render with an internal error."""
    page = f"""<!doctype html><body style="background:#f00"><script>
      window.renderReady = fetch("{path}").then(
        (answer) => {{ throw new Error(`got ${{answer.status}}`); }},
        () => {{ document.body.style.background = "#0f0"; }});</script>"""
    info = await render(app, {"index.html": page.encode(), "css/a.css": b""}, **SMALL)
    frames = decode_frames(await film_of(app, info, tmp_path))
    assert colour_at(frames[0].rgb, 160, 90)[1] >= 250
    assert len(info["warnings"]) == 1


CLIP = "http://127.0.0.1/clip.mp4"
NONSENSE = [
    f"frame?src={CLIP}",
    f"frame?src={CLIP}&width=1e9&height=10&ms=0",
    f"frame?src={CLIP}&width=10&height=10&ms=1e999999999",
    f"peaks?src={CLIP}&window=99999999999999&ms=0",
    "media",
    "nothing",
]


async def test_invalid_requests_to_the_page_host_do_not_fail_the_render(
    app: AppHarness, tmp_path: Path
) -> None:
    """It ended the render with an internal error, or kept a worker busy for ever."""
    clip = make_clip(tmp_path / "clip.mp4", Clip(duration_s=Fraction(1), audio_codec=None))
    asked = [
        f"'/__framekiln/{each.replace('/clip', 'http://127.0.0.1/clip')}'" for each in NONSENSE
    ]
    page = f"""<!doctype html><body style="background:#f00"><script>
      const ask = (path) => fetch(path).then((answer) => !answer.ok, () => true);
      window.renderReady = Promise.all([{",".join(asked)}].map(ask)).then((refused) => {{
        if (refused.every(Boolean)) document.body.style.background = "#0f0";
      }});</script>"""
    files = {"index.html": page.encode(), "clip.mp4": clip.read_bytes()}
    info = await render(app, files, **SMALL)
    frames = decode_frames(await film_of(app, info, tmp_path))
    assert colour_at(frames[0].rgb, 160, 90)[1] >= 250


# --- states -------------------------------------------------------------------------------------


@pytest.mark.spec("3.1")
async def test_a_bundle_changes_from_created_to_queued_to_rendering(idle_app: AppHarness) -> None:
    render_id = await idle_app.create(**SMALL)
    assert (await idle_app.info(render_id))["status"] == "created"
    answer = await upload(idle_app, render_id, pack({"index.html": GREEN}))
    assert (answer.status_code, answer.json()["status"]) == (200, "queued")
    (job,) = [
        job
        for job in await idle_app.services.jobs.list_jobs()
        if job.args.get("render_id") == render_id
    ]
    render = await idle_app.services.render_worker.start(
        (await idle_app.services.renders.get(*await ids(idle_app, render_id))).id,
        job_id=job.job_id,
        attempt=1,
    )
    assert render is not None
    assert (await idle_app.info(render_id))["status"] == "rendering"


async def ids(app: AppHarness, render_id: str) -> tuple[Any, Any]:
    async with app.services.database.connection() as connection:
        cursor = await connection.execute(
            "SELECT organization_id, id FROM render WHERE id = %s", (render_id,)
        )
        row = await cursor.fetchone()
    assert row is not None
    return row["organization_id"], row["id"]


# --- refused ------------------------------------------------------------------------------------

INDEX = {"index.html": b"<p>"}
LINK = entry("assets/passwd", kind=tarfile.SYMTYPE)
LINK.linkname = "/etc/passwd"
LONG_NAME = entry("@LongLink", kind=tarfile.GNUTYPE_LONGNAME, size=4 << 30)
ENDLESS = entry("zeros", size=2 << 30)
BAD: dict[str, tuple[bytes, int, str, str]] = {
    "nothing": (b"", 400, "invalid_bundle", "not a gzip tar"),
    "a zip": (b"PK\x03\x04", 400, "invalid_bundle", "not a gzip tar"),
    "half a gzip": (pack(INDEX)[:30], 400, "invalid_bundle", "not a readable gzip tar"),
    "no tar": (gzip.compress(b"hello" * 400), 400, "invalid_bundle", "not a readable gzip tar"),
    "no index": (pack({"a/index.html": b""}), 400, "invalid_bundle", "no index.html at its root"),
    "a folder as index": (pack({"index.html": None}), 400, "invalid_bundle", "no index.html"),
    "not UTF-8": (pack({"index.html": b"\xff\xfe"}), 400, "invalid_bundle", "not UTF-8"),
    "a way out": (pack({**INDEX, "../../evil": b""}), 400, "invalid_bundle", "'../../evil' leads"),
    "an absolute path": (pack({**INDEX, "/etc/evil": b""}), 400, "invalid_bundle", "leads out"),
    "a link": (pack(INDEX, LINK), 400, "invalid_bundle", "'assets/passwd' is neither a file"),
    "a file twice": (pack(INDEX, entry("./index.html")), 400, "invalid_bundle", "occurs twice"),
    "a file as folder": (
        pack({**INDEX, "index.html/a": b""}),
        400,
        "invalid_bundle",
        "below a file",
    ),
    "a long name": (pack({**INDEX, "n" * 300: b""}), 400, "invalid_bundle", "too long a name"),
    "a bomb": (pack(INDEX, ENDLESS), 413, "bundle_too_large", "unpacks to more than"),
    "a bomb in a header": (pack(INDEX, LONG_NAME), 413, "bundle_too_large", "header is 429496"),
    "many entries": (
        pack(INDEX, *[entry("folder", kind=tarfile.DIRTYPE)] * 10_000),
        413,
        "bundle_too_large",
        "more than 10000 entries",
    ),
}


@pytest.mark.spec("3.1", "7")
@pytest.mark.parametrize(("bundle", "status", "code", "reason"), BAD.values(), ids=BAD)
async def test_a_bad_bundle_is_refused_with_its_reason(
    idle_app: AppHarness, bundle: bytes, status: int, code: str, reason: str
) -> None:
    render_id = await idle_app.create(**SMALL)
    before = await idle_app.count_stored()
    answer = await upload(idle_app, render_id, bundle)
    assert answer.status_code == status
    assert answer.json()["error"] == code
    assert reason in answer.json()["message"]
    assert "/tmp" not in answer.json()["message"]
    assert await idle_app.count_stored() == before
    assert (await idle_app.info(render_id))["status"] == "created"
    assert (await upload(idle_app, render_id, pack({"index.html": GREEN}))).json()[
        "status"
    ] == "queued"


async def test_after_a_bad_bundle_a_good_one_is_rendered(app: AppHarness, tmp_path: Path) -> None:
    render_id = await app.create(**SMALL)
    assert (await upload(app, render_id, b"nonsense")).status_code == 400
    assert (await upload(app, render_id, pack({"index.html": GREEN}))).status_code == 200
    path = await film_of(app, await app.wait_ended(render_id), tmp_path)
    assert colour_at(decode_frames(path)[0].rgb, 160, 90)[1] >= 250


@pytest.mark.spec("7")
async def test_a_render_with_html_refuses_a_bundle(idle_app: AppHarness) -> None:
    bundle = pack({"index.html": GREEN})
    from_html, from_bundle = await idle_app.create(html="<p>x"), await idle_app.create()
    assert (await upload(idle_app, from_bundle, bundle)).status_code == 200
    for render_id, status in ((from_html, "created"), (from_bundle, "queued")):
        before = await idle_app.count_stored()
        answer = await upload(idle_app, render_id, bundle)
        assert answer.status_code == 409
        assert answer.json()["error"] == "render_has_composition"
        assert answer.json()["status"] == status
        assert await idle_app.count_stored() == before


async def test_one_of_two_concurrent_bundles_is_accepted(idle_app: AppHarness) -> None:
    """The second replaced what the workers of the first were filming."""
    render_id = await idle_app.create()
    bundles = [pack({"index.html": f"<p>{n}".encode()}) for n in range(4)]
    answers = await asyncio.gather(*(upload(idle_app, render_id, bundle) for bundle in bundles))
    codes = [answer.status_code for answer in answers]
    assert sorted(codes) == [200, 409, 409, 409]
    render = await idle_app.services.renders.get(*await ids(idle_app, render_id))
    assert await idle_app.services.blobs.get(render.source_key) == bundles[codes.index(200)]
    # What the others sent is not kept.
    assert await keys(idle_app, render) == [render.source_key]
    jobs = await idle_app.services.jobs.list_jobs(limit=1000)
    assert [job.args.get("render_id") for job in jobs].count(render_id) == 1


@pytest.mark.parametrize("kind", ["bundle", "film"])
async def test_an_upload_is_stored_without_a_lock_and_deleted_if_it_is_not_recorded(
    idle_app: AppHarness, flash_clip: Path, kind: str
) -> None:
    """The store may take minutes, and the database has few connections."""
    data = (
        pack({"index.html": GREEN})
        if kind == "bundle"
        else await asyncio.to_thread(flash_clip.read_bytes)
    )
    render_id = await idle_app.create()
    render = await idle_app.services.renders.get(*await ids(idle_app, render_id))

    async def is_stored() -> bool:
        return bool(await keys(idle_app, render))

    async with idle_app.services.database.transaction() as connection:
        await connection.execute("SELECT FROM render WHERE id = %s FOR UPDATE", (render.id,))
        sending = asyncio.create_task(upload(idle_app, render_id, data))
        await wait_until(is_stored)
        await connection.execute("DELETE FROM render WHERE id = %s", (render.id,))
    assert (await sending).status_code == 404
    assert await keys(idle_app, render) == []


async def keys(app: AppHarness, render: Render) -> list[str]:
    prefix = render_prefix(render.organization_id, render.id)
    return [info.key async for info in app.services.blobs.list(prefix)]


@pytest.mark.spec("7")
async def test_a_bundle_for_an_unknown_render_is_404(idle_app: AppHarness) -> None:
    bundle = pack({"index.html": GREEN})
    stranger = await idle_app.other_organization()
    theirs = await stranger.create()
    for render_id in (str(uuid4()), "nonsense", theirs):
        answer = await upload(idle_app, render_id, bundle)
        assert (answer.status_code, answer.json()["error"]) == (404, "render_not_found")
    assert (await stranger.info(theirs))["status"] == "created"


@pytest.mark.spec("5")
async def test_uploading_a_bundle_requires_a_key(idle_app: AppHarness) -> None:
    render_id = await idle_app.create()
    request = idle_app.client.build_request("POST", f"{RENDERS}/{render_id}/upload", content=b"x")
    del request.headers["authorization"]
    assert (await idle_app.client.send(request)).status_code == 401


async def test_there_is_no_output_before_the_bundle_is_uploaded(idle_app: AppHarness) -> None:
    render_id = await idle_app.create()
    answer = await idle_app.client.get(f"{RENDERS}/{render_id}.mp4")
    assert (answer.status_code, answer.json()["status"]) == (409, "created")
