"""Ingest: sources by https address are fetched once for each organization, or named when missing.

The sources lie on a TLS server on loopback whose certificate is made for this run. Loopback is
private, so the operator's allow list names it.
"""

import asyncio
import socket
import ssl
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.files import ingest as ingest_module
from framekiln.files.ingest import Ingest
from framekiln.kit.fetch import FetchFailed, FetchFailedPermanently, GuardedFetcher
from framekiln.kit.ids import OrganizationId
from tests.support.app import AppHarness
from tests.support.clips import Clip, make_clip, make_still
from tests.support.clock import SettableClock
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.receiver import Answer, ReceivedRequest, Receiver
from tests.support.sounds import beep_times
from tests.support.timeouts import TIMEOUT_S

SMALL = {"width": 320, "height": 180, "fps": 10, "duration_ms": 300}


class MediaServer(Receiver):
    """Other people's server: pictures, a clip, and what a test adds."""

    def __init__(self, context: ssl.SSLContext, folder: Path) -> None:
        super().__init__()
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._clip = make_clip(folder / "clip.mp4", Clip(duration_s=Fraction(1))).read_bytes()
        self._pictures = {
            f"/picture-{n}.png": make_still(folder / f"{n}.png", n, width=160, height=120)
            for n in range(1, 4)
        }
        self.answer_by(self._find)

    def url(self, path: str = "/") -> str:
        return f"https://127.0.0.1:{self.port}{path}"

    def asked_since(self, count: int) -> list[str]:
        """Return the paths asked for after the first `count` requests, sorted."""
        return sorted(request.path for request in self.requests[count:])

    def _find(self, request: ReceivedRequest) -> Answer:
        path = request.path.split("?")[0]
        if path in self._pictures:
            data = self._pictures[path].read_bytes()
            return Answer(body=data, headers={"Content-Type": "image/png"})
        if path == "/clip.mp4":
            return Answer(body=self._clip, headers={"Content-Type": "video/mp4"})
        if path == "/nonsense":
            return Answer(body=b"<html>no media</html>", headers={"Content-Type": "text/html"})
        return Answer(404)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for this machine, with its key beside it."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    names = ["-subj", "/CN=media.test", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*command.split(), *names, *files], check=True, capture_output=True)
    return folder / "cert.pem"


@pytest.fixture(scope="module")
def media(certificate: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MediaServer]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("key.pem"))
    with MediaServer(context, tmp_path_factory.mktemp("media")) as media:
        yield media


@pytest.fixture(scope="module")
def silent_server() -> Iterator[socket.socket]:
    """Lets clients connect, and never says anything."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield server


@pytest.fixture(scope="module")
def app_options(
    media: MediaServer, certificate: Path, silent_server: socket.socket
) -> dict[str, Any]:
    return {
        "fetch_allow": frozenset(
            f"127.0.0.1:{port}" for port in (media.port, silent_server.getsockname()[1])
        ),
        "fetch_ca_file": certificate,
        "workers": 1,
    }


# --- fetched once -------------------------------------------------------------------------------

COMPOSITION = """
<ef-timegroup duration="1s" style="position:relative;width:320px;height:240px;background:#000">
  <style>img, ef-image, div, ef-video {{ position: absolute; width: 160px; height: 120px }}</style>
  <img src="{origin}/picture-1.png" style="left:0;top:0">
  <ef-image src="{origin}/picture-2.png" style="left:160px;top:0"></ef-image>
  <div style="left:0;top:120px;background:url({origin}/picture-3.png)"></div>
  <ef-video src="{origin}/clip.mp4" style="left:160px;top:120px"></ef-video>
</ef-timegroup>"""


def codes_in(path: Path) -> list[list[int | None]]:
    """Return the numbers of the four pictures in each frame."""
    return [
        [read_frame_code(frame.rgb[y : y + 120, x : x + 160]) for y in (0, 120) for x in (0, 160)]
        for frame in decode_frames(path)
    ]


async def test_sources_are_fetched_once_for_each_organization(
    app: AppHarness, media: MediaServer, tmp_path: Path
) -> None:
    html = COMPOSITION.format(origin=media.url("").rstrip("/"))
    everything = ["/clip.mp4", "/picture-1.png", "/picture-2.png", "/picture-3.png"]
    stranger = await app.other_organization()
    for asker, fetched in ((app, everything), (app, []), (stranger, everything)):
        before = len(media.requests)
        info = await asker.render(html, fps=10, work_slice_ms=1000)
        path = tmp_path / "film.mp4"
        path.write_bytes(await asker.output(info))
        assert codes_in(path) == [[1, 2, 3, n] for n in range(0, 30, 3)]
        assert [round(at_s, 2) for at_s in beep_times(path)] == [0.0]
        assert info["warnings"] == []
        assert media.asked_since(before) == fetched


async def test_plain_elements_are_served_too(
    app: AppHarness, media: MediaServer, tmp_path: Path
) -> None:
    html = f"""<!doctype html><style>body {{ margin: 0 }}</style>
      <video autoplay src="{media.url("/clip.mp4?plain")}" width=320 height=240></video>"""
    info = await app.render(html, width=320, height=240, fps=10)
    assert info["duration_ms"] == 1000
    path = tmp_path / "film.mp4"
    path.write_bytes(await app.output(info))
    assert [read_frame_code(frame.rgb) for frame in decode_frames(path)] == list(range(0, 30, 3))
    assert [round(at_s, 2) for at_s in beep_times(path)] == [0.0]


async def organization_of(app: AppHarness) -> OrganizationId:
    return (await app.services.identity.authenticate(app.key)).organization.id


async def test_concurrent_requests_share_one_download(app: AppHarness, media: MediaServer) -> None:
    organization = await organization_of(app)
    before = len(media.requests)
    media.answer_next(Answer(body=b"film", delay_s=0.3))
    url = media.url("/slow")
    assets = await asyncio.gather(*(app.services.ingest.get(organization, url) for _ in range(8)))
    assert media.asked_since(before) == ["/slow"]
    assert len({asset.id for asset in assets}) == 1
    assert await app.services.blobs.get(assets[0].blob_key) == b"film"


async def test_slow_servers_of_many_organizations_do_not_delay_the_sources_of_others(
    app: AppHarness, media: MediaServer, silent_server: socket.socket
) -> None:
    """Four sources that never arrived kept every other organization waiting for ten minutes."""
    strangers = [await organization_of(await app.other_organization()) for _ in range(5)]
    slow = f"https://127.0.0.1:{silent_server.getsockname()[1]}"
    waiting = [
        asyncio.create_task(app.services.ingest.get(stranger, f"{slow}/{number}"))
        for stranger in strangers
        for number in range(20)
    ]
    await asyncio.sleep(0.2)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            url = media.url("/picture-1.png?fair")
            await app.services.ingest.get(await organization_of(app), url)
        assert not any(each.done() for each in waiting)
    finally:
        # All of them fail, the rest because nobody listens.
        silent_server.close()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(each, FetchFailed) for each in ended)


@pytest.mark.spec("4.3", "8")
async def test_an_asset_is_kept_for_an_hour(
    app: AppHarness, media: MediaServer, certificate: Path
) -> None:
    clock = SettableClock()
    ingest = Ingest(
        app.services.database,
        locks=app.services.locks,
        blobs=app.services.blobs,
        fetcher=GuardedFetcher(app.services.settings.fetch_allow, ca_file=certificate),
        clock=clock,
        quotas=app.services.quotas,
    )
    organization, url = await organization_of(app), media.url("/picture-1.png?hour")
    before = len(media.requests)
    first = await ingest.get(organization, url)
    assert first.expires_at - first.created_at == timedelta(hours=1)
    clock.advance(timedelta(minutes=59, seconds=59))
    assert await ingest.get(organization, url) == first
    assert len(media.requests) == before + 1
    clock.advance(timedelta(seconds=1))
    second = await ingest.get(organization, url)
    assert (second.id != first.id, len(media.requests)) == (True, before + 2)
    # The clock stands years ahead of the other tests' assets: they go, too.
    assert await ingest.remove_expired() >= 1
    assert await app.services.blobs.info(first.blob_key) is None
    assert await app.services.blobs.info(second.blob_key) is not None
    assert await ingest.get(organization, url) == second
    clock.advance(timedelta(hours=1))
    assert await ingest.remove_expired() == 1
    assert await app.services.blobs.info(second.blob_key) is None


async def test_a_failed_download_leaves_nothing(app: AppHarness, media: MediaServer) -> None:
    before = await app.count_stored()
    with pytest.raises(FetchFailedPermanently):
        await app.services.ingest.get(await organization_of(app), media.url("/gone"))
    assert await app.count_stored() == before


# --- missing ------------------------------------------------------------------------------------

ELEMENTS = {
    "img": '<img id="it" src="{url}">',
    "ef-image": '<ef-image id="it" src="{url}"></ef-image>',
    "ef-video": '<ef-video id="it" src="{url}"></ef-video>',
    "ef-audio": '<ef-audio id="it" src="{url}"></ef-audio>',
    "video": '<video id="it" src="{url}"></video>',
    "audio": '<audio id="it" src="{url}"></audio>',
}


def within(element: str, url: str) -> str:
    return f'<ef-timegroup duration="1s">{ELEMENTS[element].format(url=url)}</ef-timegroup>'


async def failure(app: AppHarness, html: str) -> tuple[str, str]:
    """Return code and message of a render that fails."""
    info = await app.render(html, **SMALL)
    assert info["status"] == "failed", info
    return info["error"]["code"], info["error"]["message"]


@pytest.mark.spec("4.3", "7")
@pytest.mark.parametrize("element", ELEMENTS)
async def test_a_source_that_is_gone_is_named_with_its_element(
    app: AppHarness, media: MediaServer, element: str
) -> None:
    """A film without its picture was taken for a success."""
    url = media.url(f"/gone/{element}?with=a-name-that-is-longer-than-what-messages-quote-of-it")
    before = len(media.requests)
    code, message = await failure(app, within(element, url))
    assert code == "asset_missing"
    assert message.startswith(f"{element}#it: ")
    assert url[:77] in message
    assert "answered with status 404" in message
    # What is gone for good is not asked for again.
    assert len(media.requests) == before + 1


@pytest.mark.spec("4.3", "7")
async def test_a_render_that_fails_keeps_its_warnings(app: AppHarness) -> None:
    cdn = "https://127.0.0.1:1/gsap.js"
    page = f"<p>x</p><ef-txt>x</ef-txt><script src='{cdn}'></script><script>gsap.to()</script>"
    info = await app.render(page, **SMALL)
    assert (info["status"], info["error"]["code"]) == ("failed", "page_threw")
    assert f"gsap is not defined. Likely cause: the script {cdn}" in info["error"]["message"]
    element, script = info["warnings"]
    assert element.endswith("did you mean <ef-text>?")
    assert script.startswith(f"the script {cdn} did not run: ")
    assert info["warning_codes"] == ["unknown_element", "script_failed"]


@pytest.mark.spec("4.3", "7")
# That each element is named, the test of sources that are gone says for all of them.
@pytest.mark.parametrize("element", ["img", "ef-image", "ef-video", "audio"])
async def test_a_source_that_is_not_media_is_named(
    app: AppHarness, media: MediaServer, element: str
) -> None:
    code, message = await failure(app, within(element, media.url(f"/nonsense?{element}")))
    # Only the page itself knows what became of an ef-image.
    codes = {"img": "asset_missing", "ef-image": "page_threw"}
    assert code == codes.get(element, "unreadable_media")
    assert f"{element}#it" in message
    assert "/nonsense" in message


@pytest.mark.spec("4.3", "7")
@pytest.mark.parametrize(
    # Not for each element: an address is refused before anybody asks which element has it.
    ("element", "src"),
    [("img", "./a/b.mp4"), ("ef-video", "file:///etc/passwd")],
)
async def test_relative_and_local_sources_are_refused_by_name(
    app: AppHarness, element: str, src: str
) -> None:
    _, message = await failure(app, within(element, src))
    assert f"{element}#it" in message
    assert src in message
    assert "https" in message


@pytest.mark.spec("4.3", "7")
@pytest.mark.parametrize(
    # Which addresses are private, `test_fetch_rules` says for all of them.
    ("element", "url", "reason"),
    [
        ("img", "https://127.0.0.1/x.png", "127.0.0.1 is not a public host"),
        ("ef-video", "https://10.0.0.1:8443/x.png", "port 8443 is not allowed"),
    ],
)
async def test_private_addresses_are_refused(
    app: AppHarness, element: str, url: str, reason: str
) -> None:
    code, message = await failure(app, within(element, url))
    assert code == "asset_missing"
    assert message.startswith(f"{element}#it: ")
    assert reason in message


@pytest.mark.spec("8")
async def test_a_source_over_the_limit_is_named(
    app: AppHarness, media: MediaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_module, "MAX_ASSET_BYTES", 1000)
    code, message = await failure(app, within("ef-video", media.url("/clip.mp4?large")))
    assert code == "asset_missing"
    assert message.startswith("ef-video#it: ")
    assert "larger than 1000 bytes" in message


async def test_a_temporary_server_error_is_retried(
    app: AppHarness, media: MediaServer, tmp_path: Path
) -> None:
    media.answer_next(Answer(503))
    before = len(media.requests)
    info = await app.render(within("ef-video", media.url("/clip.mp4?again")), **SMALL)
    assert info["status"] == "complete", info["error"]
    assert len(media.requests) == before + 2


async def test_a_server_that_stays_down_is_named(app: AppHarness, media: MediaServer) -> None:
    media.answer_next(*[Answer(503)] * 3)
    code, message = await failure(app, within("img", media.url("/down.png")))
    assert code == "asset_unavailable"
    assert "img#it" in message
    assert "answered with status 503" in message


async def test_a_missing_background_is_a_warning(app: AppHarness, media: MediaServer) -> None:
    url = media.url("/gone-background.png")
    info = await app.render(f"<body style='background:url({url})'>", **SMALL)
    assert info["status"] == "complete"
    (warning,) = info["warnings"]
    assert url in warning
    assert "status 404" in warning


FINE = """
<!-- An error the page deals with. --><img src="{url}?removed" onerror="this.remove()">
<!-- A handler that only listens. --><img src="{url}?heard" onerror="0">
<!-- Images without a source. --><img><img src="">
<!-- A drawing without a size. -->
<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>">
<!-- An image that is put right. --><img src="{url}?corrected" id="x"><script>
  x.src = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
</script>"""


async def test_missing_files_that_are_not_shown_do_not_fail_the_render(
    app: AppHarness, media: MediaServer
) -> None:
    info = await app.render(FINE.format(url=media.url("/gone.png")), **SMALL)
    assert info["status"] == "complete", info["error"]


async def test_repeated_requests_of_a_page_reach_the_server_once(
    app: AppHarness, media: MediaServer
) -> None:
    """Each try was a request, and a warning."""
    url = media.url("/gone-data.json")
    html = f"<script>setInterval(() => fetch('{url}').catch(() => 0), 20)</script>"
    before = len(media.requests)
    info = await app.render(html, **SMALL)
    assert info["status"] == "complete"
    assert media.asked_since(before) == ["/gone-data.json"]
    late, missing = info["warnings"]
    assert late.startswith(f"a script requested {url} after frame 0")
    assert missing.startswith(f"{url} could not be used")
    assert info["warning_codes"] == ["late_request", "source_unusable"]
