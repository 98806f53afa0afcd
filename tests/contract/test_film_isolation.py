"""A process that makes films opens no source itself: confined children do.

Here every attempt fails. Writing, reading back slices that we encoded, and screenshots are allowed.
"""

from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest
from PIL import Image

from framekiln.capture.browser import Browser
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from tests.support.browsers import SharedBrowser
from tests.support.layer_films import config_of, film_of
from tests.support.layer_media import CLIP, FLAT, GIF, image, layer_media, video
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames
from tests.support.opened_media import packet_mark, refuse_to_read
from tests.support.sounds import decode_audio, rms
from tests.support.timeouts import FILM_LIMITS

PAGE = f"""<ef-timegroup mode="fixed" duration="1s" style="display:block;width:320px;height:240px">
<ef-video id="v" src="{CLIP}" style="width:160px;height:120px"></ef-video>
<ef-image src="{GIF}" style="width:32px;height:32px"></ef-image>
<ef-waveform target="v" mode="bars" style="width:160px;height:60px"></ef-waveform>
<video src="{CLIP}" autoplay width="80"></video><img src="{FLAT}">
</ef-timegroup>"""


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    assets = layer_media(tmp_path_factory.mktemp("media"))
    for url in (CLIP, FLAT, GIF):
        assets.fetch(url)
    return assets


@pytest.fixture
def browser(shared_browser: SharedBrowser) -> Browser:
    return shared_browser.get()


@pytest.fixture
def _opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    open_file = av.open

    def refuse_strangers(file: Any, *args: Any, **options: Any) -> Any:
        # Only `open_media`, which opens what strangers chose, limits the codecs.
        assert "codec_whitelist" not in (options.get("options") or {}), f"{file} was opened here"
        return open_file(file, *args, **options)

    def refuse(file: Any, *_args: Any, **_options: Any) -> Any:
        raise AssertionError(f"{file} was opened here")

    monkeypatch.setattr(av, "open", refuse_strangers)
    monkeypatch.setattr(Image, "open", refuse)


@pytest.mark.usefixtures("_opens_nothing")
def test_filming_a_page_opens_no_source_in_this_process(
    browser: Browser, assets: LocalAssets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = FilmOrder(
        PAGE, width_px=320, height_px=240, fps=Fraction(10), duration_ms=1000, assets=assets
    )
    film = make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS)
    assert film.plan.timeline.frame_count == 10
    monkeypatch.undo()
    assert rms(decode_audio(tmp_path / "film.mp4").samples) > 0


@pytest.mark.usefixtures("_opens_nothing")
def test_filming_layers_opens_no_source_in_this_process(
    browser: Browser, assets: LocalAssets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(
        video(),
        image(),
        image(GIF),
        {"type": "audio", "file": CLIP},
        {"type": "waveform", "file": CLIP, "waveform": {"style": "bars"}},
        {"type": "waveform"},
        duration=1,
    )
    film_of(config, browser, assets, tmp_path / "film.mp4")
    monkeypatch.undo()
    assert rms(decode_audio(tmp_path / "film.mp4").samples) > 0


def test_a_film_with_packets_of_its_source(
    browser: Browser, assets: LocalAssets, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A film of our own is encoded as our slices are, so its packets are copied.
    own = film_of(config_of(video(), duration=2), browser, assets, tmp_path / "own.mp4")
    source = LocalAssets(tmp_path, {"own.mp4": lambda _: None})
    config = config_of({"type": "video", "file": f"{MEDIA_ORIGIN}own.mp4"}, duration=2)
    refuse_to_read(monkeypatch, packet_mark(own))
    film = film_of(config, browser, source, tmp_path / "film.mp4")
    monkeypatch.undo()
    assert packet_mark(own) in film.read_bytes()
    assert len(decode_frames(film)) == len(decode_frames(own))
