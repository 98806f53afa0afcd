"""Plans, films, pages and uploads know the same of every source, and what they know is so."""

import json
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from framekiln.capture.browser import Browser
from framekiln.composition.layers import read_config, resolve
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.layers.fetched_sources import fetch_sources
from framekiln.engine.layers.renderer import resolve_film
from framekiln.engine.page.host import PageHost
from framekiln.engine.page.renderer import open_page_renderer
from framekiln.kit.errors import FramekilnError
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.errors import UnreadableMedia
from framekiln.media.lottie_file import MAX_LOTTIE_BYTES
from framekiln.media.probe.media_file import probe_media
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.source import probe_source, probe_source_task
from framekiln.media.segments.outline import make_outline
from framekiln.media.source_session import SourceSession
from framekiln.media.tracks.split import process_video
from framekiln.videos.sources import ProbedSources, probe_file
from tests.support.frame_codes import Picture
from tests.support.layer_films import LayerFilm, config_of, open_layer_film
from tests.support.layer_media import is_near
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import decode_frames
from tests.support.sample_sources import BLUE, GREEN, RED, SOURCES, clip, moving
from tests.support.timeouts import FILM_LIMITS

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
    "packed.lottie": ("lottie", (200, 100), 1, 30, False),
    "sized.svg": ("image", (50, 76), None, None, False),
    "boxed.svg": ("image", (90, 30), None, None, False),
    "bare.svg": ("image", (300, 150), None, None, False),
    "clip.mp4": ("video", (64, 48), 1, 10, True),
    "silent.mp4": ("video", (64, 48), 1, 10, False),
    "varying.mp4": ("video", (64, 48), 1, 7, False),
    "turned.mp4": ("video", (48, 64), 1, 10, False),
    "overstated.mkv": ("video", (64, 48), 1, 10, False),
    "bare.mp3": ("audio", None, 1, None, True),
    "covered.mp3": ("audio", None, 1, None, True),
    "tone.wav": ("audio", None, 1, None, True),
    "tone.ogg": ("audio", None, 1, None, True),
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


def probe_confined(path: Path) -> ProbedSource:
    """Return what a plan is probe_confined: the task of its confined child, as JSON."""
    return ProbedSource.from_json(
        json.loads(json.dumps(probe_source_task({"source": str(path)}, print)))
    )


@pytest.mark.parametrize("name", FACTS)
def test_a_plan_has_the_size_duration_and_rate_of_its_film(assets: LocalAssets, name: str) -> None:
    kind, size, duration_s, fps, has_sound = FACTS[name]
    address = MEDIA_ORIGIN + name
    found = probe_confined(assets.fetch(address).path)
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
        with SourceSession() as session:
            gathered = fetch_sources(read, assets, session)
        film = resolve_film(read, gathered)
        assert gathered.probed == {address: found}
        assert resolve(read, ProbedSources({address: found}).media) == film
        assert film.duration_s == pytest.approx(Fraction(duration_s or 1), abs=1e-9)
        assert bool(film.sounds) == (has_sound and layer_type != "image")
        if size is not None:
            assert film.dimensions.height_px == size[1]


PLAYED = [
    name
    for name, (kind, *_) in FACTS.items()
    if kind in ("image", "video", "audio") and not name.endswith(".svg")
]


@pytest.mark.parametrize("name", FACTS)
def test_pages_and_plans_have_the_same_facts_of_a_source(
    browser: Browser, assets: LocalAssets, name: str
) -> None:
    found = probe_confined(assets.fetch(MEDIA_ORIGIN + name).path)
    with PageHost(assets, browser) as host:
        answer = host.lookup(f"http://127.0.0.1/__framekiln/media?src={MEDIA_ORIGIN}{name}")
    assert answer is not None
    assert isinstance(answer.body, bytes)
    media = json.loads(answer.body)
    if name not in PLAYED:
        assert (answer.status, media["error"]) == (404, "unreadable_media")
        return
    assert media == {
        "durationMs": found.duration_s and float(found.duration_s * 1000),
        "widthPx": found.width_px,
        "heightPx": found.height_px,
        "hasVideo": found.kind != "audio",
        "hasAudio": found.has_sound,
    }


def test_elements_and_layers_have_the_same_duration(browser: Browser, assets: LocalAssets) -> None:
    """Each is alone in a group; a still is as long as its group, as a layer is as its film."""
    expected = {name: 1000 * (FACTS[name][2] or 1) for name in PLAYED}

    def group(name: str) -> str:
        kind, _, duration_s, *_ = FACTS[name]
        element = "ef-audio" if kind == "audio" else "ef-video"
        length = 'mode="contain"' if duration_s is not None else 'mode="fixed" duration="1s"'
        source = f'<{element} src="{MEDIA_ORIGIN}{name}"></{element}>'
        return f'<ef-timegroup class="alone" {length}>{source}</ef-timegroup>'

    groups = "".join(map(group, PLAYED))
    html = f'<ef-timegroup mode="sequence" style="width: 60px; height: 60px">{groups}'
    durations = "[...document.querySelectorAll('.alone')].map((each) => each.durationMs)"
    with open_page_renderer(FilmOrder(html, assets=assets), browser, FILM_LIMITS) as opened:
        found = dict(zip(PLAYED, opened.page.evaluate(durations), strict=True))
        film_ms = opened.plan.timeline.duration_ms
    assert found == pytest.approx(expected, abs=0.001)
    assert film_ms == pytest.approx(sum(expected.values()), abs=34)


def test_video_and_audio_elements_have_the_facts_of_their_sources(
    browser: Browser, assets: LocalAssets
) -> None:
    names = [name for name in PLAYED if FACTS[name][0] != "image"]
    played = "".join(f'<video src="{MEDIA_ORIGIN}{name}"></video>' for name in names)
    order = FilmOrder(f"<body>{played}", duration_ms=100, assets=assets)
    facts = """[...document.querySelectorAll("video")].map(
      (each) => [each.duration, each.videoWidth, each.videoHeight])"""
    with open_page_renderer(order, browser, FILM_LIMITS) as opened:
        seen = dict(zip(names, opened.page.evaluate(facts), strict=True))
    for name in names:
        found = probe_source(assets.fetch(MEDIA_ORIGIN + name).path)
        assert found.duration_s is not None
        size = [found.width_px or 0, found.height_px or 0]
        assert seen[name] == [pytest.approx(float(found.duration_s)), *size], name


def test_pictures_of_a_page_have_the_times_of_their_sources(
    browser: Browser, assets: LocalAssets
) -> None:
    names = [name for name in PLAYED if FACTS[name][0] == "image"]
    with PageHost(assets, browser) as host:
        for name in names:
            assert host.lookup(MEDIA_ORIGIN + name) is not None
        answer = host.lookup("http://127.0.0.1/__framekiln/animations")
    assert answer is not None
    assert isinstance(answer.body, bytes)
    moving_pictures = json.loads(answer.body)["moving"]
    for name in names:
        found = probe_source(assets.fetch(MEDIA_ORIGIN + name).path)
        reported = moving_pictures.get(MEDIA_ORIGIN + name)
        if not found.frame_ms:
            assert reported is None, name
            continue
        size = (reported["widthPx"], reported["heightPx"])
        assert size == (found.width_px, found.height_px), name
        assert reported["endsMs"] == [float(end_ms) for end_ms in accumulate(found.frame_ms)], name
        assert reported["plays"] == found.plays, name


def test_ef_video_shows_animated_pictures_by_their_times(
    browser: Browser, assets: LocalAssets, tmp_path: Path
) -> None:
    """A GIF's picture of 10 ms was over after 10 ms; of an AVIF the first one stayed."""
    names = [name for name in PLAYED if name.startswith(("moving", "hasty", "covered.png"))]
    assert len(names) == 6
    # Side by side, and only as long as each plays; how long it plays is tested above.
    videos = "".join(
        f'<ef-video src="{MEDIA_ORIGIN}{name}" style="left: {60 * place}px"></ef-video>'
        for place, name in enumerate(names)
    )
    html = f"""<style>body {{ margin: 0 }} ef-video {{ position: absolute; top: 0 }}</style>
      <ef-timegroup mode="contain" style="width: 360px; height: 40px">{videos}</ef-timegroup>"""
    order = FilmOrder(html, width_px=360, height_px=40, fps=Fraction(50), assets=assets)
    path = tmp_path / "film.mp4"
    make_film(order, browser, path, limits=FILM_LIMITS)
    pictures = [frame.rgb for frame in decode_frames(path)]
    for place, name in enumerate(names):
        colours = [GREEN, BLUE] if name == "covered.png" else [RED, GREEN, BLUE]
        lengths_ms = probe_source(assets.fetch(MEDIA_ORIGIN + name).path).frame_ms
        expected = [
            colour
            for colour, length_ms in zip(colours, lengths_ms, strict=True)
            for _ in range(int(length_ms // 20))
        ]
        shown = [nearest(picture[:, 60 * place : 60 * (place + 1)]) for picture in pictures]
        assert shown[: len(expected)] == expected, name


def nearest(picture: Picture) -> tuple[int, int, int]:
    """Return which of the three colours a picture shows."""
    return (RED, GREEN, BLUE)[int(picture[20, 30].argmax())]


@pytest.mark.parametrize("name", [name for name in PLAYED if FACTS[name][0] != "image"])
def test_uploads_and_sources_have_the_same_size_and_duration(
    assets: LocalAssets, tmp_path: Path, name: str
) -> None:
    """Steps of type probe return what was found when the file was processed."""
    path = assets.fetch(MEDIA_ORIGIN + name).path
    made, found = process_video(path, tmp_path, report=lambda _: None), probe_source(path)
    assert (made.width_px, made.height_px) == (found.width_px, found.height_px)
    assert found.duration_s is not None
    assert made.duration_ms == round(found.duration_s * 1000)
    types = {track.type for track in made.tracks}
    assert types == {found.kind.value} | ({"audio"} if found.has_sound else set())


AAC_FRAME_S = Fraction(1024, 48_000)


@pytest.mark.parametrize("name", FACTS)
def test_playback_has_the_size_and_duration_of_the_source(assets: LocalAssets, name: str) -> None:
    """An AVIF of 0.6 s was played for 1 s, and the padding of an MP3 with it."""
    path = assets.fetch(MEDIA_ORIGIN + name).path
    kind, size, duration_s, _, has_sound = FACTS[name]
    if kind not in ("video", "audio") and not name.endswith(".gif"):
        with pytest.raises(UnreadableMedia, match="it cannot be played as video or sound"):
            make_outline(path, path)
        return
    outline = make_outline(path, path)
    ends_s = [Fraction(each.bounds[-1], each.timescale) for each in outline.renditions]
    # A picture that stands still is one frame; sound ends with a whole frame.
    expected_s = Fraction(duration_s or 0.1).limit_denominator(10_000)
    assert all(0 <= end_s - expected_s < AAC_FRAME_S for end_s in ends_s)
    sizes = [each.size for each in outline.video_renditions]
    main = sizes[0] if sizes else None
    assert (main and (main.width_px, main.height_px)) == size
    assert (outline.audio_rendition is not None) == has_sound


@pytest.mark.parametrize("lengths_ms", [[100, 200, 300], [0, 20, 20], [0, 10, 20], [10, 10, 10]])
def test_a_gif_has_the_same_duration_as_upload_and_as_layer(
    tmp_path: Path, lengths_ms: list[int]
) -> None:
    """A picture of 10 ms lasted 10 ms there, and 100 here."""
    path = tmp_path / "x.gif"
    moving(path, "GIF", duration=lengths_ms)
    found = probe_source(path)
    assert found.duration_s == probe_media(path).duration_ms / 1000
    starts_ms = [Fraction(0), *accumulate(found.frame_ms)][:3]
    with FrameSource(path, width_px=60, height_px=40) as pictures:
        assert [pictures.shown_ms(each) for each in starts_ms] == starts_ms
    processed = process_video(path, tmp_path / "made", report=lambda _: None)
    assert processed.duration_ms == sum(found.frame_ms)


def test_animated_pictures_have_frame_durations_and_a_play_count(
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
    with open_layer_film({"fps": 10, "layers": [layer]}, None, assets) as film:
        assert film.renderer.plan.timeline.frame_count == len(expected)
        assert shown(film, len(expected)) == expected
    # A video is over when it is over; an image goes round.
    longer = config_of(layer, fps=10, duration=2)
    with open_layer_film(longer, None, assets) as film:
        again = shown(film, 2 * len(expected))[len(expected) :]
        assert again == (expected if layer_type == "image" else [None] * len(expected))


def shown(film: LayerFilm, count: int) -> list[tuple[int, int, int] | None]:
    """Return which of the three colours each frame shows."""
    pictures = [film.frame(number) for number in range(count)]
    return [
        next((each for each in (RED, GREEN, BLUE) if is_near(picture, (20, 20), each)), None)
        for picture in pictures
    ]


async def test_the_confined_child_finds_what_films_find(assets: LocalAssets) -> None:
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
    with SourceSession() as session, pytest.raises(FramekilnError, match=message):
        resolve_film(config, fetch_sources(config, assets, session))


REFUSED: dict[str, tuple[bytes, str]] = {
    "a page": (b"<!doctype html><html></html>", "it is a web page"),
    "an archive": (b"PK\x03\x04" + bytes(30), "the ZIP archive is truncated"),
    "text": (b"just words", "it is plain text, but not captions"),
    "other JSON": (b'{"w": 100}', "not a Lottie animation: h must be a number above 0"),
    "no length": (b'{"w": 1, "h": 1, "fr": 30, "ip": 9, "op": 9}', "op must be more than ip"),
    "an endless rate": (b'{"w": 1, "h": 1, "fr": Infinity, "op": 9}', "fr must be at most"),
    "cut off": (b'{"w": 1, "h"', "looks like JSON, but is not"),
    "a large animation": (b'{"w": 1}' + b" " * MAX_LOTTIE_BYTES, "at most 16777216 are read"),
    "an animation of lists": (b'{"x": [' + b"[]," * 5_000_000 + b"0]}", "more than 3000000 values"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_an_unusable_source_fails_with_the_reason(tmp_path: Path, case: str) -> None:
    data, message = REFUSED[case]
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UnreadableMedia, match=message):
        probe_source(tmp_path / "x")


@pytest.mark.parametrize("name", ["clip.mp4", "clip.webm"])
def test_a_truncated_source_fails_with_the_reason(tmp_path: Path, name: str) -> None:
    """Its film froze where the source ended; only uploads were refused."""
    whole, cut = tmp_path / name, tmp_path / f"cut-{name}"
    codecs = {"clip.mp4": ("libx264", "aac"), "clip.webm": ("libvpx-vp9", "libopus")}
    clip(whole, **dict(zip(("video_codec", "audio_codec"), codecs[name], strict=True)))
    cut.write_bytes(whole.read_bytes()[:-2000])
    assert probe_source(whole).duration_s
    with pytest.raises(
        UnreadableMedia, match=r"the file is truncated: .* are there; copy it again"
    ):
        probe_source(cut)
    with pytest.raises(UnreadableMedia, match="the file is truncated"):
        make_outline(cut, cut)
