"""A plan and its film know the same of every source, and what they know is so."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from framekiln.composition.layers import read_config, resolve
from framekiln.engine.layers.sourcing import gather
from framekiln.engine.layers.stage import settle
from framekiln.kit.errors import FramekilnError
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe import probe
from framekiln.media.probed_source import ProbedSource
from framekiln.media.source_probe import LARGEST_LOTTIE_BYTES, probe_source, task
from framekiln.videos.sources import FoundSources, probe_file
from tests.support.layer_films import LayerFilm, config_of, staged
from tests.support.layer_media import is_near
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.source_stock import BLUE, GREEN, RED, SOURCES, moving

pytestmark = pytest.mark.spec("2.4", "4.2")

Size = tuple[float, float] | None

# Kind, size as shown, seconds of the film that shows it alone (None: it has no length of its
# own), pictures a second, sound.
FACTS: dict[str, tuple[str, Size, float | None, float | None, bool]] = {
    "still.gif": ("image", (60, 40), None, None, False),
    "moving.gif": ("image", (60, 40), 0.6, 5, False),
    "hasty.gif": ("image", (60, 40), 0.22, 13.636, False),
    "still.webp": ("image", (60, 40), None, None, False),
    "moving.webp": ("image", (60, 40), 0.6, 5, False),
    "still.png": ("image", (60, 40), None, None, False),
    "moving.png": ("image", (60, 40), 0.6, 5, False),
    "covered.png": ("image", (60, 40), 0.3, 6.667, False),
    "turned.jpg": ("image", (40, 60), None, None, False),
    "still.avif": ("image", (60, 40), None, None, False),
    "moving.avif": ("image", (60, 40), 0.6, 5, False),
    "plain.json": ("lottie", (200, 100), 1, 30, False),
    "no-ip.json": ("lottie", (200, 100), 1, 30, False),
    "late.json": ("lottie", (200, 100), 0.5, 30, False),
    "ntsc.json": ("lottie", (200.5, 100), 1.001001001, 29.97, False),
    "sized.svg": ("image", (50, 76), None, None, False),
    "boxed.svg": ("image", (90, 30), None, None, False),
    "bare.svg": ("image", (300, 150), None, None, False),
    "clip.mp4": ("video", (64, 48), 1, 10, True),
    "silent.mp4": ("video", (64, 48), 1, 10, False),
    "varying.mp4": ("video", (64, 48), 1, 7, False),
    "turned.mp4": ("video", (48, 64), 1, 10, False),
    "bare.mp3": ("audio", None, 1, None, True),
    "covered.mp3": ("audio", None, 1, None, True),
    "tone.wav": ("audio", None, 1, None, True),
    "tone.ogg": ("audio", None, 1.0065, None, True),
    "said.srt": ("caption", None, None, None, False),
}
LAYERS = {
    "image": ("image", "video"),
    "video": ("video", "image"),
    "audio": ("audio",),
    "lottie": ("lottie",),
    "caption": ("subtitles",),
}
TURNED = {"turned.jpg": 270, "turned.mp4": 90}


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return LocalAssets(tmp_path_factory.mktemp("sources"), SOURCES)


def told(path: Path) -> ProbedSource:
    """Return what a plan is told: the task of its confined child, as JSON."""
    return ProbedSource.from_json(json.loads(json.dumps(task({"source": str(path)}, print))))


@pytest.mark.parametrize("name", FACTS)
def test_a_plan_has_the_numbers_of_its_film(assets: LocalAssets, name: str) -> None:
    kind, size, duration_s, fps, has_sound = FACTS[name]
    address = MEDIA_ORIGIN + name
    found = told(assets.fetch(address).path)
    assert found.kind == kind
    assert (found.width_px, found.height_px) == (size or (None, None))
    assert found.duration_s == (None if duration_s is None else pytest.approx(Fraction(duration_s)))
    assert found.fps == (None if fps is None else pytest.approx(fps, abs=0.001))
    assert (found.has_sound, found.rotation_degrees) == (has_sound, TURNED.get(name, 0))
    for layer_type in LAYERS[kind]:
        config: dict[str, Any] = {"layers": [{"type": layer_type, "file": address, "id": "x"}]}
        if size is None:
            config["dimensions"] = {"width": 64, "height": 64}
        if duration_s is None:
            config["duration"] = 1
        read = read_config(config).config
        gathered = gather(read, assets)
        film = settle(read, gathered)
        assert gathered.probed == {address: found}
        assert resolve(read, FoundSources({address: found}).media) == film
        assert film.duration_s == pytest.approx(Fraction(duration_s or 1), abs=1e-9)
        assert bool(film.sounds) == (has_sound and layer_type != "image")
        if size is not None:
            assert film.dimensions.height_px == size[1]


@pytest.mark.parametrize("lengths_ms", [[100, 200, 300], [0, 20, 20]])
def test_a_gif_lasts_as_long_for_pages_as_for_layers(tmp_path: Path, lengths_ms: list[int]) -> None:
    path = tmp_path / "x.gif"
    moving(path, "GIF", duration=lengths_ms)
    assert probe_source(path).duration_s == probe(path).duration_ms / 1000


def test_animated_pictures_tell_how_long_each_lasts_and_how_often_they_play(
    assets: LocalAssets,
) -> None:
    def of(name: str) -> tuple[list[Fraction], int | None]:
        found = probe_source(assets.fetch(MEDIA_ORIGIN + name).path)
        return list(found.frame_ms), found.plays

    assert of("moving.gif") == ([100, 200, 300], None)
    assert of("hasty.gif") == ([100, 100, 20], None), "what lasts no time lasts 100 ms"
    assert of("moving.webp") == ([100, 200, 300], 3)
    assert of("moving.png") == ([100, 200, 300], None)
    assert of("covered.png") == ([100, 200], None), "its first picture is for other viewers"
    assert of("moving.avif") == ([100, 200, 300], None)
    assert of("still.gif") == ([], None)


@pytest.mark.parametrize("layer_type", ["image", "video"])
@pytest.mark.parametrize("name", ["moving.gif", "moving.webp", "moving.png", "covered.png"])
def test_animated_pictures_are_shown_by_their_times(
    assets: LocalAssets, name: str, layer_type: str
) -> None:
    layer = {"type": layer_type, "file": MEDIA_ORIGIN + name}
    colours = [GREEN, BLUE] if name == "covered.png" else [RED, GREEN, BLUE]
    lengths = [1, 2, 3][: len(colours)]
    expected = [each for each, count in zip(colours, lengths, strict=True) for _ in range(count)]
    with staged({"fps": 10, "layers": [layer]}, None, assets) as film:
        assert film.stage.shot.timeline.frame_count == len(expected)
        assert shown(film, len(expected)) == expected
    # A video is over when it is over; an image goes round.
    longer = config_of(layer, fps=10, duration=2)
    with staged(longer, None, assets) as film:
        again = shown(film, 2 * len(expected))[len(expected) :]
        assert again == (expected if layer_type == "image" else [None] * len(expected))


def shown(film: LayerFilm, count: int) -> list[tuple[int, int, int] | None]:
    """Return which of the three colours each frame shows."""
    pictures = [film.frame(number) for number in range(count)]
    return [
        next((each for each in (RED, GREEN, BLUE) if is_near(picture, (20, 20), each)), None)
        for picture in pictures
    ]


async def test_the_confined_child_tells_what_films_find(assets: LocalAssets) -> None:
    path = assets.fetch(MEDIA_ORIGIN + "moving.gif").path
    assert await probe_file(path) == probe_source(path)


@pytest.mark.parametrize(
    ("name", "layer_type", "message"),
    [
        ("plain.json", "image", "the source is a Lottie animation: use a lottie layer"),
        ("said.srt", "video", "the source has captions: use a subtitles layer"),
        ("still.png", "subtitles", "the source is a picture without sound: use an image layer"),
        ("clip.mp4", "lottie", "the source is a video: use a video layer"),
        ("tone.wav", "video", "the source has no picture, only sound: use an audio layer"),
        ("silent.mp4", "audio", "the source has no sound"),
    ],
)
def test_a_source_of_another_kind_names_the_layer_for_it(
    assets: LocalAssets, name: str, layer_type: str, message: str
) -> None:
    config = read_config(config_of({"type": layer_type, "file": MEDIA_ORIGIN + name})).config
    with pytest.raises(FramekilnError, match=message):
        settle(config, gather(config, assets))


REFUSED: dict[str, tuple[bytes, str]] = {
    "a page": (b"<!doctype html><html></html>", "it is a web page"),
    "an archive": (b"PK\x03\x04" + bytes(30), "of a .lottie file, give the JSON inside it"),
    "text": (b"just words", "it is plain text, and no captions"),
    "other JSON": (b'{"w": 100}', "no Lottie animation: h must be a number above 0"),
    "no length": (b'{"w": 1, "h": 1, "fr": 30, "ip": 9, "op": 9}', "op must be more than ip"),
    "an endless rate": (b'{"w": 1, "h": 1, "fr": Infinity, "op": 9}', "fr must be at most"),
    "cut off": (b'{"w": 1, "h"', "begins like JSON and is none"),
    "a large animation": (b'{"w": 1}' + b" " * LARGEST_LOTTIE_BYTES, "at most 16777216 are read"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_told_why(tmp_path: Path, case: str) -> None:
    data, message = REFUSED[case]
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UnreadableMedia, match=message):
        probe_source(tmp_path / "x")
