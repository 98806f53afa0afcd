"""Films whose decoder is killed: once from outside, or by a source each time."""

import os
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser
from framekiln.composition.layers import read_config
from framekiln.engine.assets import Assets, LocalAsset
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.page.host import PageHost
from framekiln.kit.confined.errors import SourceKillsDecoder
from framekiln.kit.ranged_path import SparseCopy, ranged_path
from tests.support.decoders import decoders
from tests.support.layer_films import config_of
from tests.support.layer_media import CLIP, FLAT, layer_media, video
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sample_sources import clip
from tests.support.timeouts import FILM_LIMITS

BUNNY = Path(__file__).parents[2] / "examples/media/bunny.mp4"
PAGE = f"""<body style="margin:0"><ef-timegroup mode="fixed" duration="1s"
  style="display:block;width:320px;height:240px">
<ef-video id="v" src="{CLIP}" style="width:160px;height:120px"></ef-video>
<ef-waveform target="v" mode="bars" style="width:160px;height:60px"></ef-waveform>
<img src="{FLAT}"></ef-timegroup>"""
FRAME = f"http://127.0.0.1/__framekiln/frame?src={MEDIA_ORIGIN}clip.mp4&width=64&height=48&ms="

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root may signal processes of another user"
)


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return layer_media(tmp_path_factory.mktemp("media"))


def page_order(assets: Assets) -> FilmOrder:
    return FilmOrder(PAGE, width_px=320, height_px=240, fps=Fraction(10), assets=assets)


def layer_order(assets: Assets) -> FilmOrder:
    return FilmOrder(layers=read_config(config_of(video(), duration=1)).config, assets=assets)


@pytest.mark.parametrize("order", [page_order, layer_order])
def test_a_film_whose_decoder_is_killed_has_the_same_bytes(
    browser: Browser, assets: LocalAssets, tmp_path: Path, order: Callable[[Assets], FilmOrder]
) -> None:
    before = decoders()
    killed: set[int] = set()

    def kill_once(done: int, count: int) -> None:
        if done == count // 2 and not killed:
            killed.update(decoders() - before)
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    plain, disturbed = tmp_path / "plain.mp4", tmp_path / "disturbed.mp4"
    make_film(order(assets), browser, plain, limits=FILM_LIMITS)
    make_film(order(assets), browser, disturbed, limits=FILM_LIMITS, report=kill_once)
    assert len(killed) == 1
    assert disturbed.read_bytes() == plain.read_bytes()
    assert decoders() <= before


def test_a_page_survives_the_crash_of_its_decoder(browser: Browser, tmp_path: Path) -> None:
    assets = LocalAssets(tmp_path, {"clip.mp4": clip})
    before = decoders()
    with PageHost(assets, browser) as host:
        first, later = host.lookup(FRAME + "0"), host.lookup(FRAME + "100")
        new = decoders() - before
        assert len(new) == 1
        os.kill(new.pop(), signal.SIGSEGV)
        again = [host.lookup(FRAME + ms) for ms in ("0", "100")]
    for known, found in zip((first, later), again, strict=True):
        assert known is not None
        assert found is not None
        assert (found.status, found.body) == (200, known.body)
    assert decoders() <= before


class DeadlyFile(SparseCopy):
    """A remote file; while it is armed, every decoder that asks for a missing part is killed."""

    is_armed = False
    spared: frozenset[int] = frozenset()
    kills = 0

    def fetch(self, block: int, ahead: int) -> int:
        if not self.is_armed:
            return super().fetch(block, ahead)
        for pid in decoders() - self.spared:
            os.kill(pid, signal.SIGSEGV)
            self.kills += 1
        return block + 1


class DeadlyAssets:
    """One video, for any URL."""

    def __init__(self, folder: Path) -> None:
        content, path = BUNNY.read_bytes(), folder / "deadly.mp4"
        self.file = DeadlyFile(path, len(content), lambda start, end: content[start:end])
        self.file.spared = frozenset(decoders())
        self._path = ranged_path(path, self.file)

    def fetch(self, url: str) -> LocalAsset:
        return LocalAsset(self._path, "video/mp4")


def test_a_source_that_kills_two_decoders_fails_the_film_for_good(
    browser: Browser, tmp_path: Path
) -> None:
    assets = DeadlyAssets(tmp_path)
    assets.file.is_armed = True
    with pytest.raises(SourceKillsDecoder, match=r"clip.*crashed on this file twice") as error:
        make_film(page_order(assets), browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    assert (error.value.code, error.value.retryable) == ("decoder_killed", False)
    assert assets.file.kills == 2


def test_a_frame_that_kills_two_decoders_ends_the_page(browser: Browser, tmp_path: Path) -> None:
    """The page is not asked: it could ignore the error, or report another."""
    assets = DeadlyAssets(tmp_path)
    with PageHost(assets, browser) as host:
        first = host.lookup(FRAME + "0")
        assert first is not None
        assert first.status == 200
        assets.file.is_armed = True
        with pytest.raises(SourceKillsDecoder, match=r"clip\.mp4.*crashed on this file twice"):
            host.lookup(FRAME + "9000")
    assert assets.file.kills == 2
