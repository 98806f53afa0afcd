"""Redacted films, looked at pixel by pixel and sample by sample."""

import json
import subprocess
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream
from av.video.stream import VideoStream
from numpy.typing import NDArray

from framekiln.engine.redaction import task
from framekiln.media.isobmff.boxes import read_header
from tests.support.clips import Clip, make_clip
from tests.support.looks import decode_frames

Planes = NDArray[np.uint8]

WIDTH, HEIGHT, FPS = 160, 120, 25
RATE_HZ = 48_000
MARGIN_PX = 8
# A box of 40 x 30 that goes 80 pixels to the right in a second, and another that stands still.
MOVING = {
    "start_ms": 400,
    "end_ms": 1400,
    "keyframes": [
        {"t_ms": 400, "x": 0.05, "y": 0.2, "w": 0.25, "h": 0.25},
        {"t_ms": 1400, "x": 0.55, "y": 0.2, "w": 0.25, "h": 0.25},
    ],
}
NEIGHBOUR = {
    "start_ms": 600,
    "end_ms": 1000,
    "keyframes": [{"t_ms": 600, "x": 0.3, "y": 0.45, "w": 0.25, "h": 0.25}],
}
FRAME_COUNT = 2 * FPS


@dataclass
class Source:
    """A film without loss: smooth pictures, with noise wherever a box is said to be."""

    path: Path
    boxes: list[Any] = field(default_factory=list)
    seed: int = 0
    sounds: int = 1
    #: When the first picture and the first sample come.
    picture_delay_ms: int = 0
    sound_delay_ms: int = 0
    metadata: dict[str, str] = field(default_factory=dict)

    def picture(self, number: int) -> Planes:
        """Return all planes of a picture, as the encoder wants them."""
        rows, columns = np.mgrid[0:HEIGHT, 0:WIDTH]
        luma = 60 + columns / 2 + rows / 4 + 20 * np.sin((columns + 3 * number) / 15)
        planes = np.full((HEIGHT * 3 // 2, WIDTH), 128, np.uint8)
        planes[:HEIGHT] = luma
        random = np.random.default_rng([self.seed, number])
        for rect in inside(self.boxes, number):
            left, top, right, bottom = rect
            planes[top:bottom, left:right] = random.integers(16, 235, (bottom - top, right - left))
        return planes

    def write(self) -> Path:
        with av.open(self.path, "w", format="matroska") as container:
            container.metadata.update(self.metadata)
            video = container.add_stream("ffv1", rate=FPS)
            assert isinstance(video, VideoStream)
            video.width, video.height, video.pix_fmt = WIDTH, HEIGHT, "yuv420p"
            video.colorspace = video.color_primaries = video.color_trc = 1
            video.color_range = 1
            sounds = [container.add_stream("flac", rate=RATE_HZ) for _ in range(self.sounds)]
            for number in range(FRAME_COUNT):
                frame = av.VideoFrame.from_ndarray(self.picture(number), "yuv420p")
                frame.pts = number + self.picture_delay_ms * FPS // 1000
                frame.time_base = Fraction(1, FPS)
                container.mux(video.encode(frame))
            container.mux(video.encode(None))
            for nth, stream in enumerate(sounds):
                assert isinstance(stream, AudioStream)
                self._write_sound(container, stream, nth)
        return self.path

    def _write_sound(self, container: Any, stream: AudioStream, nth: int) -> None:
        tone = (8000 * np.sin(np.arange(2 * RATE_HZ) / (20 + nth))).astype(np.int16)
        for first in range(0, len(tone), 4096):
            part = np.repeat(tone[first : first + 4096], 2)[None]
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(part), "s16", "stereo")
            frame.sample_rate, frame.time_base = RATE_HZ, Fraction(1, RATE_HZ)
            frame.pts = first + self.sound_delay_ms * RATE_HZ // 1000
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def place(box: Any, ms: float) -> tuple[float, float, float, float]:
    """Return left, top, right, bottom of a box in pixels, straight between its keyframes."""
    frames = box["keyframes"]
    times = [each["t_ms"] for each in frames]
    x, y, w, h = (float(np.interp(ms, times, [each[name] for each in frames])) for name in "xywh")
    return x * WIDTH, y * HEIGHT, (x + w) * WIDTH, (y + h) * HEIGHT


def inside(boxes: list[Any], number: int) -> list[tuple[int, int, int, int]]:
    """Return the pixels that boxes touch while a picture is shown, as the keyframes say."""
    found = []
    for box in boxes:
        if not box["start_ms"] <= number * 1000 / FPS <= box["end_ms"]:
            continue
        left, top, right, bottom = place(box, number * 1000 / FPS)
        found.append((int(left), int(top), int(np.ceil(right)), int(np.ceil(bottom))))
    return found


def redact(source: Path, *, boxes: list[Any] = [], mutes: list[Any] = []) -> Path:  # noqa: B006
    order, out = source.with_suffix(".json"), source.with_suffix(".mp4")
    order.write_text(json.dumps({"boxes": boxes, "mutes": mutes}))
    result = task({"source": str(source), "order": str(order), "out": str(out)}, lambda _: None)
    assert (result["width_px"], result["height_px"], result["fps"]) in {
        (WIDTH, HEIGHT, "25"),
        (HEIGHT, WIDTH, "25"),
    }
    return out


def luma_of(frame: av.VideoFrame) -> Planes:
    return np.asarray(frame.to_ndarray(format="yuv420p"), np.uint8)[: frame.height]


def pictures(path: Path) -> dict[int, Planes]:
    """Return the luma of all pictures by time in milliseconds."""
    with av.open(path) as container:
        return {round(1000 * frame.time): luma_of(frame) for frame in container.decode(video=0)}


def sound(path: Path, track: int = 0) -> tuple[int, NDArray[np.float32]]:
    """Return when a sound track begins, in samples, and one channel of it."""
    with av.open(path) as container:
        frames = list(container.decode(audio=track))
    start_s = frames[0].time
    assert start_s is not None
    first = round(start_s * RATE_HZ)
    return first, np.concatenate([frame.to_ndarray()[0] for frame in frames])


def test_the_content_of_a_box_does_not_influence_the_film(tmp_path: Path) -> None:
    boxes = [MOVING, NEIGHBOUR]
    films = [
        redact(Source(tmp_path / f"{seed}.mkv", boxes, seed).write(), boxes=boxes)
        for seed in (1, 2)
    ]
    # The sources differ in every hidden pixel; the films differ in nothing.
    assert films[0].read_bytes() == films[1].read_bytes()


def test_boxes_are_where_keyframes_say_and_the_rest_is_untouched(tmp_path: Path) -> None:
    source = Source(tmp_path / "film.mkv", [MOVING], seed=3)
    shown = pictures(redact(source.write(), boxes=[MOVING]))
    assert sorted(shown) == [number * 40 for number in range(FRAME_COUNT)]
    for number in range(FRAME_COUNT):
        picture = shown[number * 40].astype(int)
        original = source.picture(number)[:HEIGHT].astype(int)
        hidden = np.zeros((HEIGHT, WIDTH), bool)
        for rect in inside([MOVING], number):
            left, top, right, bottom = rect
            # Noise is rough, what hides it is smooth.
            rough = np.abs(np.diff(original[top:bottom, left:right], axis=1)).mean()
            smooth = np.abs(np.diff(picture[top:bottom, left:right], axis=1)).mean()
            assert rough > 40
            assert smooth < 5
            # Up to the next picture the box goes 3.2 pixels, then there is the margin.
            margin = MARGIN_PX + 2
            first = max(0, left - margin)
            hidden[top - margin : bottom + margin, first : right + margin + 4] = True
        assert np.abs(picture - original)[~hidden].mean() < 1.5
        assert np.abs(picture - original)[~hidden].max() < 40


@pytest.mark.parametrize("start_ms", [400, 439, 361])
def test_every_picture_that_is_on_screen_in_the_span_is_covered(
    tmp_path: Path, start_ms: int
) -> None:
    box = {**NEIGHBOUR, "start_ms": start_ms, "end_ms": start_ms + 100}
    always = {**NEIGHBOUR, "start_ms": 0, "end_ms": 2000}
    shown = pictures(redact(Source(tmp_path / "film.mkv", [always]).write(), boxes=[box]))
    hidden = {ms for ms in shown if np.abs(np.diff(shown[ms][56:82, 50:86].astype(int))).mean() < 5}
    on_screen = {ms for ms in shown if ms + 40 > start_ms and ms <= start_ms + 100}
    assert on_screen <= hidden
    # Half a picture more at either end, and no farther.
    assert hidden <= {ms for ms in shown if ms + 60 >= start_ms and ms <= start_ms + 120}


def test_a_span_without_keyframes_is_silent_in_all_tracks(tmp_path: Path) -> None:
    source = Source(tmp_path / "film.mkv", sounds=2).write()
    film = redact(source, mutes=[{"start_ms": 500, "end_ms": 900.5}])
    for track in (0, 1):
        (first, heard), (_, integers) = sound(film, track), sound(source, track)
        assert first == 0
        assert not heard[24_000:43_224].any()
        original = integers.astype(np.float32)[::2] / 32_768
        for part in (np.s_[4000:20_000], np.s_[48_000:90_000]):
            assert np.abs(heard[part] - original[part]).max() < 0.02


def test_the_offset_between_pictures_and_sound_is_kept(tmp_path: Path) -> None:
    source = Source(tmp_path / "film.mkv", picture_delay_ms=200, sound_delay_ms=500).write()
    film = redact(source, mutes=[{"start_ms": 700, "end_ms": 800}])
    assert min(pictures(film)) == 200
    first, heard = sound(film)
    # What AAC puts before the sound may come, but it is silent.
    assert np.abs(heard[: 24_000 - first - 200]).max(initial=0) < 0.01
    heard = heard[24_000 - first :]
    assert np.abs(heard[:4000]).max() > 0.2
    assert not heard[33_600 - 24_000 : 38_400 - 24_000].any()
    assert np.abs(heard[38_400 - 24_000 + 4000 :]).max() > 0.2


def test_metadata_and_other_streams_are_not_copied(tmp_path: Path) -> None:
    captions, plain = tmp_path / "said.srt", tmp_path / "plain.mkv"
    captions.write_text("1\n00:00:00,000 --> 00:00:01,000\nsecret words\n")
    chapters = tmp_path / "chapters.txt"
    chapters.write_text(
        ";FFMETADATA1\ntitle=secret title\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=500\n"
        "title=secret chapter\n"
    )
    Source(plain, [MOVING], metadata={"location": "+12.34-056.78/"}).write()
    source = tmp_path / "full.mkv"
    command: list[str | Path] = ["ffmpeg", "-v", "error"]
    command += ["-i", plain, "-i", captions, "-i", chapters]
    command += ["-map", "0", "-map", "1", "-map_metadata", "2", "-map_chapters", "2"]
    command += ["-attach", captions, "-metadata:s:t", "mimetype=text/plain"]
    command += ["-metadata:s:a:0", "title=secret track", "-c", "copy", source]
    subprocess.run(command, check=True)
    film = redact(source, boxes=[MOVING])
    data = film.read_bytes()
    assert b"secret" in source.read_bytes()
    assert b"secret" not in data
    with av.open(film) as container:
        assert [stream.type for stream in container.streams] == ["video", "audio"]
        assert container.chapters() == []
        assert "title" not in container.metadata
        codecs = [stream.codec_context.name for stream in container.streams]
        assert codecs == ["h264", "aac"]
    # moov comes before mdat.
    kinds, at = [], 0
    while header := read_header(data[at : at + 16]):
        kinds.append(header.kind)
        at += header.size_bytes
    assert kinds.index("moov") < kinds.index("mdat")


def test_boxes_are_on_the_picture_as_it_is_shown(tmp_path: Path) -> None:
    clip = Clip(width=WIDTH, height=HEIGHT, fps=Fraction(FPS), rotation_degrees=90)
    turned = make_clip(tmp_path / "turned.mov", clip)
    corner = {
        "start_ms": 0,
        "end_ms": 2000,
        "keyframes": [{"t_ms": 0, "x": 0, "y": 0, "w": 0.3, "h": 0.2}],
    }
    before = pictures(redact(turned))
    after = pictures(redact(turned, boxes=[corner]))
    assert before[400].shape == (WIDTH, HEIGHT)
    changed = np.abs(before[400].astype(int) - after[400]) > 8
    rows, columns = np.nonzero(changed)
    assert len(rows)
    assert rows.max() < 0.2 * WIDTH + MARGIN_PX + 4
    assert columns.max() < 0.3 * HEIGHT + MARGIN_PX + 4


def test_colours_are_not_shifted_when_the_height_is_no_multiple_of_four(tmp_path: Path) -> None:
    clip = Clip(width=160, height=122, fps=Fraction(FPS), duration_s=Fraction(1, 5))
    source = make_clip(tmp_path / "clip.mov", clip)
    order, out = tmp_path / "order.json", tmp_path / "out.mp4"
    order.write_text(json.dumps({"boxes": [], "mutes": [{"start_ms": 0, "end_ms": 100}]}))
    task({"source": str(source), "order": str(order), "out": str(out)}, lambda _: None)
    before, after = decode_frames(source), decode_frames(out)
    assert after[3].rgb.shape == (122, 160, 3)
    assert np.abs(before[3].rgb.astype(int) - after[3].rgb).mean() < 4
