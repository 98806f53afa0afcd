"""Sources on other servers are read part by part: a film costs the bytes that it shows."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser
from framekiln.engine.fetched_assets import FetchedAssets
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.missing_media import AssetUnavailable
from framekiln.engine.site import SiteAssets
from framekiln.kit.content_version import SourceChanged
from framekiln.kit.fetch import GuardedFetcher
from framekiln.kit.ranged_path import RangedPath
from framekiln.media.segments.outline import make_outline
from framekiln.playback.page_player import PlayerWithoutService
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.looks import decode_frames
from tests.support.player_bundles import one_source_page, one_source_site
from tests.support.ranged_server import RangedServer
from tests.support.sounds import decode_audio, find_beeps
from tests.support.timeouts import FILM_LIMITS

# Sound that is not compressed makes it large: 9 MB, 200 kB a second. The index comes last.
CLIP = Clip(
    fps=Fraction(10),
    duration_s=Fraction(46),
    keyframe_every=10,
    audio_codec="pcm_s16le",
    faststart=False,
)
FROM_S, SHOWN_S = 30, 1
SOURCE = "long.mov"

COMPOSITION = """<ef-timegroup mode="fixed" duration="{shown}s"
  style="display:block;width:320px;height:240px">
<ef-video src="{src}" sourcein="{start}s" sourceout="{end}s" style="width:320px;height:240px">
</ef-video></ef-timegroup>"""

pytestmark = pytest.mark.spec("4.3")


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_clip(tmp_path_factory.mktemp("clips") / SOURCE, CLIP)


@pytest.fixture
def server(clip: Path) -> Iterator[RangedServer]:
    with RangedServer({SOURCE: clip}) as server:
        yield server


@dataclass(frozen=True)
class Films:
    """Makes films of the source, each in a folder of its own."""

    browser: Browser
    server: RangedServer
    folder: Path

    def assets(self, name: str) -> FetchedAssets:
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        fetcher = GuardedFetcher(frozenset({f"127.0.0.1:{self.server.port}"}))
        return FetchedAssets(fetcher, folder)

    def make(self, name: str, *, by: str) -> bytes:
        assets = self.assets(name)
        address = self.server.address(SOURCE)
        if by == "our elements":
            page = COMPOSITION.format(
                src=address, shown=SHOWN_S, start=FROM_S, end=FROM_S + SHOWN_S
            )
            site = None
        else:
            page = one_source_page(address, from_ms=FROM_S * 1000, length_ms=SHOWN_S * 1000)
            site = one_source_site(self.folder / name / "bundle", page)
        order = FilmOrder(
            page,
            width_px=320,
            height_px=240,
            fps=Fraction(10),
            duration_ms=SHOWN_S * 1000,
            site=site,
            assets=SiteAssets(site, assets) if site else assets,
            service=PlayerWithoutService(self.folder / name),
        )
        path = self.folder / f"{name}.mp4"
        make_film(order, self.browser, path, limits=FILM_LIMITS)
        return path.read_bytes()

    def check(self, name: str) -> None:
        path = self.folder / f"{name}.mp4"
        first = FROM_S * 10
        codes = [read_frame_code(frame.rgb) for frame in decode_frames(path)]
        assert codes == list(range(first, first + 10 * SHOWN_S))
        sound = decode_audio(path)
        assert find_beeps(sound.mono, sound.rate_hz) == pytest.approx([0], abs=0.005)


@pytest.fixture
def films(browser: Browser, server: RangedServer, tmp_path: Path) -> Films:
    return Films(browser, server, tmp_path)


@pytest.mark.parametrize("by", ["our elements", "its own runtime"])
def test_a_film_fetches_only_the_shown_ranges(films: Films, by: str) -> None:
    server = films.server
    in_parts = films.make("parts", by=by)
    films.check("parts")
    # A second is 200 kB. The rest is header, index, blocks and what was read ahead.
    assert server.bytes_sent < server.size(SOURCE) / 2
    server.sends_parts = False
    assert films.make("whole", by=by) == in_parts


def test_a_source_without_validators_is_fetched_whole(films: Films) -> None:
    server = films.server
    server.tag = None
    assert not isinstance(films.assets("a").fetch(server.address(SOURCE)).path, RangedPath)
    server.modified = "Mon, 01 Jan 2024 00:00:00 GMT"
    assert isinstance(films.assets("b").fetch(server.address(SOURCE)).path, RangedPath)


def test_ranges_of_different_versions_are_not_combined(films: Films) -> None:
    """Two machines behind one name, each with tags of its own."""
    films.server.changes_after = 1
    asset = films.assets("a").fetch(films.server.address(SOURCE))
    assert not isinstance(asset.path, RangedPath)
    assert asset.path.stat().st_size == films.server.size(SOURCE)


@pytest.mark.parametrize("by", ["our elements", "its own runtime"])
def test_a_source_that_changes_meanwhile_fails_the_film(films: Films, by: str) -> None:
    films.server.changes_after = 2
    with pytest.raises(SourceChanged, match="the source changed while a film was made from it"):
        films.make("changed", by=by)


@pytest.mark.parametrize("by", ["our elements", "its own runtime"])
def test_a_server_lost_meanwhile_is_a_retryable_error(films: Films, by: str) -> None:
    films.server.fails_after = 2
    with pytest.raises(AssetUnavailable, match=r"long\.mov cannot be played: .* status 503"):
        films.make("broken", by=by)


def test_an_outline_fetches_only_the_tables(films: Films) -> None:
    server = films.server
    path = films.assets("a").fetch(server.address(SOURCE)).path
    assert isinstance(path, RangedPath)
    outline = make_outline(path, path)
    assert server.bytes_sent < server.size(SOURCE) / 4
    whole = films.folder / "whole"
    whole.write_bytes(path.read_bytes())
    assert outline == make_outline(whole, whole)
