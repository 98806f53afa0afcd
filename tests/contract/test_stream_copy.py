"""Slices that show one video untouched are copied from it, where it is coded as our films are.

The source is a film of our own whose frames carry their numbers.
"""

from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from framekiln.engine.film_plan import COPIED_SLICE, FilmSlice, cut_slices
from framekiln.engine.layers.renderer import GRABBING, LayerRenderer
from framekiln.media.remux.join import join_mp4
from tests.support.browser_tab import open_tab
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import read_frame_code
from tests.support.layer_films import config_of, open_layer_film
from tests.support.layer_media import rect
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.looks import colour_at, decode_frames
from tests.support.receiver import Answer, Receiver

FPS = 10
LENGTH_S = 12
SLICE = 4 * FPS


@pytest.fixture(scope="module")
def media(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    folder = tmp_path_factory.mktemp("media")
    foreign = Clip(fps=Fraction(FPS), duration_s=Fraction(LENGTH_S), keyframe_every=2 * FPS)

    def make_own(path: Path) -> None:
        made(config_of(video(FOREIGN), **LONG), assets, path)

    assets = LocalAssets(
        folder,
        {
            "foreign.mp4": partial(make_clip, clip=foreign),
            "own.mp4": make_own,
            "still.mp4": lambda path: made(config_of(*BOXES, **LONG), assets, path),
            "damaged.mp4": lambda path: damage(assets.fetch(OWN).path, path, number=SLICE + 5),
            "turned.mp4": lambda path: turn(assets.fetch(OWN).path, path),
        },
    )
    return assets


FOREIGN, OWN, STILL, DAMAGED, TURNED = (
    f"{MEDIA_ORIGIN}{name}.mp4" for name in ("foreign", "own", "still", "damaged", "turned")
)
LONG = {"duration": LENGTH_S, "fps": FPS}
# Most frames repeat the one before, and bypass the encoder. None changes at a keyframe.
RED_S, GREEN_S = 3.3, 6.7
BOXES = (
    rect("#FF0000", (0, 0, 320, 240)),
    rect("#00FF00", (0, 0, 320, 240), timeline={"start": RED_S}),
    rect("#0000FF", (0, 0, 320, 240), timeline={"start": GREEN_S}),
)


def video(file: str = OWN, **more: Any) -> dict[str, Any]:
    return {"id": "v", "type": "video", "file": file, **more}


def made(config: dict[str, Any], assets: LocalAssets, path: Path) -> list[str]:
    """Make a film, and return how each of its slices was made."""
    ways, parts = [], []
    with open_layer_film(config, None, assets) as film:
        for slice_ in cut_slices(film.renderer.plan.timeline):
            part = path.with_suffix(f".{slice_.number}.mp4")
            ways.append(method_of(film.renderer, slice_, part))
            parts.append(part)
    join_mp4(parts, None, path)
    return ways


def method_of(renderer: LayerRenderer, slice_: FilmSlice, path: Path) -> str:
    shown: list[int] = []
    # The record names the browser, and these films have none.
    renderer._captured_frames = 0
    renderer.render_slice(slice_, path, shown.append)
    assert shown[-1] == slice_.end_frame - 1
    return GRABBING if renderer._captured_frames else COPIED_SLICE


def damage(source: Path, path: Path, *, number: int) -> None:
    """Write the same file with one coded picture that is none."""
    with av.open(str(source)) as container:
        packets = [each for each in container.demux(video=0) if each.size]
    data = bytearray(source.read_bytes())
    packet = packets[number]
    assert packet.pos is not None
    end = packet.pos + packet.size
    data[packet.pos + 5 : end] = b"\xff" * (end - packet.pos - 5)
    path.write_bytes(data)


def turn(source: Path, path: Path) -> None:
    """Write the same pictures with the wish that they be shown upside down."""
    with av.open(str(source)) as container, av.open(str(path), "w") as turned:
        stream = container.streams.video[0]
        copy = turned.add_stream_from_template(stream, opaque=True)
        copy.set_display_rotation(180)
        for packet in container.demux(stream):
            if packet.dts is not None:
                packet.stream = copy
                turned.mux_one(packet)


def planes(path: Path) -> list[NDArray[np.uint8]]:
    """Return the decoded pictures as they are coded."""
    with av.open(str(path)) as container:
        decoded = container.decode(video=0)
        return [np.asarray(each.to_ndarray(format="yuv420p"), np.uint8) for each in decoded]


def codes(path: Path) -> list[int | None]:
    return [read_frame_code(frame.rgb) for frame in decode_frames(path)]


def test_an_untouched_video_is_copied_byte_for_byte(media: LocalAssets, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    assert made(config_of(video(), **LONG), media, path) == [COPIED_SLICE] * 3
    assert path.read_bytes() == media.fetch(OWN).path.read_bytes()


def test_a_film_of_pictures_that_stay_is_copied_byte_for_byte(
    media: LocalAssets, tmp_path: Path
) -> None:
    path = tmp_path / "film.mp4"
    assert made(config_of(video(STILL), **LONG), media, path) == [COPIED_SLICE] * 3
    assert path.read_bytes() == media.fetch(STILL).path.read_bytes()


def test_copied_and_encoded_slices_are_joined_seamlessly(
    media: LocalAssets, tmp_path: Path
) -> None:
    path = tmp_path / "film.mp4"
    box = rect("#FF0000", (0, 190, 320, 50), timeline={"start": 5}, trim={"end": 2})
    assert made(config_of(video(), box, **LONG), media, path) == [
        COPIED_SLICE,
        GRABBING,
        COPIED_SLICE,
    ]
    assert codes(path) == list(range(LENGTH_S * FPS))
    red, green, _ = colour_at(decode_frames(path)[6 * FPS].rgb, 160, 220)
    assert (red > 200, green < 60) == (True, True)
    source, film = planes(media.fetch(OWN).path), planes(path)
    untouched = [*range(SLICE), *range(2 * SLICE, 3 * SLICE)]
    assert all(np.array_equal(source[number], film[number]) for number in untouched)


def test_a_cut_at_a_keyframe_is_copied(media: LocalAssets, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    config = config_of(video(trim={"start": 4}), duration=8, fps=FPS)
    assert made(config, media, path) == [COPIED_SLICE, COPIED_SLICE]
    assert codes(path) == list(range(4 * FPS, 12 * FPS))


def test_a_cut_between_keyframes_is_encoded(media: LocalAssets, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    config = config_of(video(trim={"start": 1}), duration=8, fps=FPS)
    assert made(config, media, path) == [GRABBING, GRABBING]
    assert codes(path) == list(range(FPS, 9 * FPS))


@pytest.mark.parametrize(
    ("layer", "top"),
    [
        ({"file": FOREIGN}, {}),
        ({"opacity": 0.99}, {}),
        ({"speed": 2}, {}),
        ({"filters": [{"name": "brightness", "options": {"brightness": 120}}]}, {}),
        ({"position": {"x": 1, "y": 0}}, {}),
        ({"size": {"flip": "x"}}, {}),
        ({"size": {"borderRadius": 8}}, {}),
        ({"size": {"width": 320, "height": 240, "crop": {"left": 0.1}}}, {}),
        ({}, {"fps": 2 * FPS}),
        ({}, {"dimensions": {"width": 322, "height": 240}}),
        ({}, {"output": {"crf": 30}}),
        ({}, {"output": {"videoBitrate": 200_000}}),
    ],
    ids=lambda value: "" if value == {} else str(value),
)
def test_a_changed_video_is_encoded(
    media: LocalAssets, tmp_path: Path, layer: dict[str, Any], top: dict[str, Any]
) -> None:
    config = config_of(video(**layer), **{**LONG, "duration": 4, **top})
    with open_layer_film(config, None, media) as film:
        slice_ = cut_slices(film.renderer.plan.timeline)[0]
        assert not film.renderer.slice_copier.copy(slice_, tmp_path / "slice.mp4")
    assert not (tmp_path / "slice.mp4").exists()


def test_a_turned_source_is_encoded(media: LocalAssets, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    assert made(config_of(video(TURNED), **LONG), media, path) == [GRABBING] * 3


def test_a_damaged_slice_is_encoded_and_the_others_copied(
    media: LocalAssets, tmp_path: Path
) -> None:
    path = tmp_path / "film.mp4"
    ways = made(config_of(video(DAMAGED), **LONG), media, path)
    assert ways == [COPIED_SLICE, GRABBING, COPIED_SLICE]
    numbers = codes(path)
    assert len(numbers) == LENGTH_S * FPS
    untouched = [*range(SLICE), *range(2 * SLICE, 3 * SLICE)]
    assert [numbers[each] for each in untouched] == untouched


def test_a_browser_plays_copied_and_encoded_slices_without_a_gap(
    media: LocalAssets, tmp_path: Path
) -> None:
    path = tmp_path / "film.mp4"
    box = rect("#FF0000", (0, 200, 10, 10), timeline={"start": 5}, trim={"end": 2})
    assert COPIED_SLICE in made(config_of(video(), box, **LONG), media, path)
    numbers = [0, SLICE - 1, SLICE, 2 * SLICE - 1, 2 * SLICE, 3 * SLICE - 1, SLICE // 2]
    assert [read_frame_code(picture) for picture in shown_in_browser(path, numbers)] == numbers


def test_a_browser_shows_pictures_that_stay_until_they_change(media: LocalAssets) -> None:
    red_end, green_end = round(RED_S * FPS), round(GREEN_S * FPS)
    numbers = [0, red_end - 1, red_end, red_end + 15, green_end - 1, green_end, 3 * SLICE - 1]
    shown = shown_in_browser(media.fetch(STILL).path, numbers)
    assert [int(np.argmax(picture[120, 160])) for picture in shown] == [0, 0, 1, 1, 1, 2, 2]


def shown_in_browser(path: Path, numbers: list[int]) -> list[NDArray[np.uint8]]:
    """Return frames of a film as a browser shows them, sought in this order."""
    page = Answer(body=PAGE.encode(), headers={"Content-Type": "text/html"})
    film = Answer(body=path.read_bytes(), headers={"Content-Type": "video/mp4"})
    with Receiver() as server, open_tab() as tab:
        server.answer_by(lambda request: film if request.path == "/film" else page)
        tab.open(server.url("/"))
        pictures = tab.run(f"pictures({[(number + 0.5) / FPS for number in numbers]})")
    return [np.array(each, np.uint8).reshape(240, 320, 4)[..., :3] for each in pictures]


PAGE = """<!doctype html><video muted></video><script>
const video = document.querySelector("video"), FPS = %FPS%;
const happened = (name) => new Promise((done, fail) => {
  video.addEventListener(name, done, {once: true});
  video.addEventListener("error", () => fail(new Error(video.error?.message)), {once: true});
});
const nextPicture = () =>
  new Promise((done) => video.requestVideoFrameCallback((_, {mediaTime}) => done(mediaTime)));
async function shown(time) {
  let at;
  do at = await nextPicture(); while (at > time || at < time - 1 / FPS);
}
async function pictures(times) {
  const whole = await (await fetch("film")).blob();
  video.src = URL.createObjectURL(whole);
  await happened("loadeddata");
  const context = new OffscreenCanvas(320, 240).getContext("2d");
  const taken = [];
  for (const time of times) {
    // "seeked" may come before the picture that was sought: pictures say their own times.
    const there = Promise.all([happened("seeked"), shown(time)]);
    video.currentTime = time;
    await there;
    context.drawImage(video, 0, 0);
    taken.push([...context.getImageData(0, 0, 320, 240).data]);
  }
  return taken;
}
</script>""".replace("%FPS%", str(FPS))
