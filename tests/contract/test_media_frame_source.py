"""`FrameSource` shows the right frame of every kind of file, at every frame of a film."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from pathlib import Path
from random import Random

import av
import numpy as np
import pytest
from av.video.reformatter import ColorRange, Colorspace, Interpolation, VideoReformatter
from av.video.stream import VideoStream

from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.video_decoder import VideoDecoder
from framekiln.media.errors import UnreadableMedia
from tests.support.clips import Clip, make_clip
from tests.support.frame_codes import Picture, draw_frame_code, read_frame_code

WIDTH, HEIGHT = 128, 96
FILM_FPS = 30
SCALER = VideoReformatter()


@dataclass(frozen=True)
class Case:
    """A file and what it is to show: frame numbers by the instant they appear, in ms."""

    path: Path
    appears_ms: dict[int, Fraction]

    def shown_at(self, ms: Fraction) -> int:
        """The last frame whose time has come; the first one before that."""
        due = [n for n, at_ms in self.appears_ms.items() if at_ms <= ms]
        return max(due, default=min(self.appears_ms))


def small(**wishes: object) -> Clip:
    return Clip(**{"width": WIDTH, "height": HEIGHT, "audio_codec": None, **wishes})  # type: ignore[arg-type]


def clip_case(folder: Path, name: str, clip: Clip) -> Case:
    """A clip as it is; WebM and MKV round times to a millisecond, which may not show."""
    path = make_clip(folder / name, clip)
    return Case(path, {n: n * 1000 / clip.fps for n in clip.frame_numbers})


def shifted_case(folder: Path, shift_ms: int) -> Case:
    """The same packets later or earlier; what then lies before zero is cut by an edit list."""
    clip = small(b_frames=2, keyframe_every=30, duration_s=Fraction(3))
    source = make_clip(folder / "whole.mp4", clip)
    path = folder / "shifted.mp4"
    with av.open(source) as read, av.open(path, "w") as written:
        stream = written.add_stream_from_template(read.streams.video[0], opaque=True)
        for packet in read.demux(video=0):
            if packet.pts is None or packet.dts is None:
                continue
            ticks = int(Fraction(shift_ms, 1000) / packet.time_base)
            packet.pts, packet.dts = packet.pts + ticks, packet.dts + ticks
            packet.stream = stream
            written.mux(packet)
    times = {n: n * 1000 / clip.fps + shift_ms for n in clip.frame_numbers}
    return Case(path, {n: at_ms for n, at_ms in times.items() if at_ms >= 0})


def fragmented_case(folder: Path) -> Case:
    """Without an index of the whole file at its front."""
    case = clip_case(folder, "whole.mp4", small(duration_s=Fraction(4)))
    path = folder / "fragmented.mp4"
    options = {"movflags": "frag_keyframe+delay_moov+default_base_moof"}
    with av.open(case.path) as read, av.open(path, "w", options=options) as written:
        stream = written.add_stream_from_template(read.streams.video[0], opaque=True)
        for packet in read.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                written.mux(packet)
    return Case(path, case.appears_ms)


OPEN_GROUPS = "open-gop=1:keyint=24:min-keyint=24:bframes=3:b-adapt=0:scenecut=0"
# No frame is coded alone after the first: each repeats a column of the picture.
REFRESHED = "intra-refresh=1:keyint=24:bframes=0:ref=1"


def h264_case(folder: Path, name: str, params: str) -> Case:
    """B-frames before a keyframe may refer to the group before it."""
    path, count = folder / name, 72
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=24, options={"x264-params": params})
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for n in range(count):
            container.mux(stream.encode(as_frame(draw_frame_code(n, WIDTH, HEIGHT), n, 24)))
        container.mux(stream.encode(None))
    return Case(path, {n: Fraction((n + is_avi(path)) * 1000, 24) for n in range(count)})


def is_avi(path: Path) -> bool:
    """AVI says when frames are decoded; with B-frames, all are shown one frame later."""
    return path.suffix == ".avi"


def with_divx_mark(frame: bytes) -> bytes:
    """Return an MPEG-4 keyframe that says that packets have two frames."""
    return frame.replace(b"\0\0\1\xb6", b"\0\0\1\xb2DivX503b1393p\0\0\1\xb6", 1)


def stand_in(frame: bytes) -> bytes:
    """Return an MPEG-4 frame at the time of another one that says: not coded."""
    coded = frame.split(b"\0\0\1\xb6")[1]
    bits = f"{int.from_bytes(coded[:8]):064b}"
    # The type, seconds in ones and a zero, a marker, 24ths of a second in 5 bits, a marker.
    end = bits.index("0", 2) + 8
    header = ("01" + bits[2:end] + "0").ljust(24, "1")
    return b"\0\0\1\xb6" + int(header, 2).to_bytes(3)


def packed_case(folder: Path) -> Case:
    """MPEG-4 as DivX and Xvid write it into AVI.

    A packet has a P-frame and the B-frame before it, so that each packet gives one frame; the one
    after the group is empty.
    """
    path, count = folder / "packed.avi", 73
    encoder = av.CodecContext.create("mpeg4", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = WIDTH, HEIGHT, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 24), Fraction(24)
    encoder.gop_size, encoder.max_b_frames, encoder.thread_count = 12, 2, 1
    encoder.options = {"qscale": "3", "flags": "qscale+bitexact", "b_strategy": "0"}
    packets = []
    for n in range(count):
        packets += encoder.encode(as_frame(draw_frame_code(n, WIDTH, HEIGHT), n, 24))
    packets += encoder.encode(None)
    chunks = [(with_divx_mark(bytes(packets[0])), True)]
    for n in range(1, count, 3):
        reference, earlier, later = (bytes(packet) for packet in packets[n : n + 3])
        is_key = packets[n].is_keyframe
        both = (with_divx_mark(reference) if is_key else reference) + earlier
        chunks += [(both, is_key), (later, False), (stand_in(reference), False)]
    with av.open(path, "w") as container:
        stream = container.add_stream("mpeg4", rate=24)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        stream.codec_context.codec_tag = "XVID"
        for n, (chunk, is_key) in enumerate(chunks):
            packet = av.Packet(chunk)
            packet.pts = packet.dts = n
            packet.time_base, packet.stream = Fraction(1, 24), stream
            packet.is_keyframe = is_key
            container.mux_one(packet)
    return Case(path, {n: Fraction((n + 1) * 1000, 24) for n in range(count)})


def as_frame(rgb: Picture, n: int, fps: int) -> av.VideoFrame:
    frame = SCALER.reformat(av.VideoFrame.from_ndarray(rgb, format="rgb24"), format="yuv420p")
    frame.pts, frame.time_base = n, Fraction(1, fps)
    return frame


CASES: dict[str, Callable[[Path], Case]] = {
    "23.976": lambda f: clip_case(f, "a.mp4", small(fps=Fraction(24000, 1001), b_frames=2)),
    "25": lambda f: clip_case(f, "a.mp4", small(fps=Fraction(25))),
    "29.97": lambda f: clip_case(f, "a.mov", small(fps=Fraction(30000, 1001), b_frames=3)),
    "30": lambda f: clip_case(f, "a.mp4", small(duration_s=Fraction(3), keyframe_every=250)),
    "50": lambda f: clip_case(f, "a.mp4", small(fps=Fraction(50), b_frames=2)),
    "60": lambda f: clip_case(f, "a.mp4", small(fps=Fraction(60))),
    "variable": lambda f: clip_case(f, "a.mp4", small(variable_rate=True, b_frames=2)),
    "mkv": lambda f: clip_case(f, "a.mkv", small(fps=Fraction(25), variable_rate=True)),
    "webm": lambda f: clip_case(f, "a.webm", small(video_codec="libvpx-vp9")),
    "vp8": lambda f: clip_case(f, "a.webm", small(video_codec="libvpx", fps=Fraction(25))),
    "late start": lambda f: shifted_case(f, 700),
    "edit list": lambda f: shifted_case(f, -1500),
    "open groups": lambda f: h264_case(f, "open.mp4", OPEN_GROUPS),
    "open groups in AVI": lambda f: h264_case(f, "open.avi", OPEN_GROUPS),
    "refreshed in parts": lambda f: h264_case(f, "refreshed.mp4", REFRESHED),
    "packed": packed_case,
    "fragmented": fragmented_case,
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return CASES[request.param](tmp_path_factory.mktemp("case"))


def film_instants(case: Case) -> list[Fraction]:
    """Every frame of a 30 fps film that is a little longer than the source."""
    end_ms = max(case.appears_ms.values()) + 200
    return [Fraction(n * 1000, FILM_FPS) for n in range(ceil(end_ms * FILM_FPS / 1000))]


def number_at(source: FrameSource, ms: Fraction) -> int | None:
    return read_frame_code(source.rgba_at(ms)[..., :3])


def test_every_frame_of_a_film_shows_what_is_on_screen(case: Case) -> None:
    with FrameSource(case.path, width_px=64, height_px=48) as source:
        seen = [number_at(source, ms) for ms in film_instants(case)]
    assert seen == [case.shown_at(ms) for ms in film_instants(case)]


def test_seeking_shows_the_same_frames_as_playing(case: Case) -> None:
    instants = film_instants(case)
    Random(7).shuffle(instants)
    with FrameSource(case.path, width_px=64, height_px=48) as source:
        for ms in instants:
            assert number_at(source, ms) == case.shown_at(ms), f"at {float(ms)} ms"


def test_each_frame_is_shown_from_its_exact_time(tmp_path: Path) -> None:
    fps = Fraction(24000, 1001)
    path = make_clip(tmp_path / "a.mp4", small(fps=fps, b_frames=2))
    with FrameSource(path, width_px=64, height_px=48) as source:
        for n in range(1, 20):
            begins_ms = n * 1000 / fps
            assert number_at(source, begins_ms - Fraction(1, 10)) == n - 1
            assert number_at(source, begins_ms) == n
            # What a page says is a decimal cut short.
            assert number_at(source, Fraction(floor(begins_ms * 100_000), 100_000)) == n


def test_a_fractional_rate_repeats_and_drops_no_frame(tmp_path: Path) -> None:
    """WebM rounds 33.367 ms to 33: a picture due in half a tick counts as due."""
    fps = Fraction(30000, 1001)
    path = make_clip(tmp_path / "a.webm", small(fps=fps, video_codec="libvpx-vp9"))
    with FrameSource(path, width_px=64, height_px=48) as source:
        assert [number_at(source, n * 1000 / fps) for n in range(60)] == list(range(60))


def test_shown_frames_are_identified_by_their_time(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.mp4", small(fps=Fraction(10)))
    with FrameSource(path, width_px=64, height_px=48) as source:
        shown = [source.shown_ms(Fraction(n * 1000, 30)) for n in range(7)]
        assert shown == [0, 0, 0, 100, 100, 100, 200]
        first = source.rgba_at(Fraction(0))
        assert source.rgba_at(Fraction(50)) is first
        assert not first.flags.writeable


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_rotation_is_applied(tmp_path: Path, degrees: int) -> None:
    clip = small(rotation_degrees=degrees, duration_s=Fraction(1, 5))
    path = make_clip(tmp_path / "a.mp4", clip)
    upright = draw_frame_code(2, WIDTH, HEIGHT)
    expected = np.rot90(upright, degrees // 90)
    height, width = expected.shape[:2]
    with FrameSource(path, width_px=width, height_px=height) as source:
        seen = source.rgba_at(Fraction(70))
        planes = source.yuv_at(Fraction(70))
    assert seen.shape == (height, width, 4)
    assert np.abs(seen[..., :3].astype(int) - expected).mean() < 8
    luma = expected @ np.array([0.2126, 0.7152, 0.0722]) * 219 / 255 + 16
    assert np.abs(planes.luma.astype(int) - luma).mean() < 4
    assert planes.blue.shape == (height // 2, width // 2)


COLOURS = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (200, 120, 40), (128, 128, 128), (16, 200, 235)]


def write_colours(path: Path, height: int, *, tag: int | None, levels: ColorRange) -> None:
    """One colour a frame, by the matrix of the tag or, untagged, of the custom for this size."""
    by_custom = Colorspace.ITU709 if height >= 720 else Colorspace.ITU601
    matrix = by_custom if tag is None else {1: Colorspace.ITU709, 6: Colorspace.ITU601}[tag]
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "4"})
        stream.width, stream.height, stream.pix_fmt = 64, height, "yuv420p"
        stream.codec_context.color_range = levels
        if tag is not None:
            stream.codec_context.colorspace = tag
        for n, colour in enumerate(COLOURS):
            frame = av.VideoFrame.from_ndarray(
                np.full((height, 64, 3), colour, np.uint8), format="rgb24"
            ).reformat(
                format="yuv420p",
                dst_colorspace=matrix,
                dst_color_range=levels,
                interpolation=Interpolation.BICUBIC | Interpolation.ACCURATE_RND,
            )
            frame.pts, frame.time_base = n, Fraction(1, 25)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize("levels", [ColorRange.MPEG, ColorRange.JPEG], ids=["limited", "full"])
@pytest.mark.parametrize("tag", [1, 6, None], ids=["709", "601", "untagged"])
@pytest.mark.parametrize("height", [96, 720])
def test_colours_are_decoded_correctly(
    tmp_path: Path, height: int, tag: int | None, levels: ColorRange
) -> None:
    path = tmp_path / "colours.mp4"
    write_colours(path, height, tag=tag, levels=levels)
    for width_px, height_px in ((64, height), (32, height // 2)):
        with FrameSource(path, width_px=width_px, height_px=height_px) as source:
            for n, colour in enumerate(COLOURS):
                pixel = source.rgba_at(Fraction(n * 40))[height_px // 2, width_px // 2]
                assert np.abs(pixel[:3].astype(int) - colour).max() <= 2
                assert pixel[3] == 255
                assert_bt709(source, Fraction(n * 40), colour)


def assert_bt709(source: FrameSource, ms: Fraction, colour: tuple[int, int, int]) -> None:
    red, green, blue = (level / 255 for level in colour)
    luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    planes = source.yuv_at(ms)
    for plane, expected in (
        (planes.luma, 16 + 219 * luma),
        (planes.blue, 128 + 224 * (blue - luma) / 1.8556),
        (planes.red, 128 + 224 * (red - luma) / 1.5748),
    ):
        assert abs(float(plane[len(plane) // 2, 8]) - expected) <= 3


@pytest.mark.parametrize(
    ("name", "codec", "pix_fmt", "options"),
    [
        ("a.webm", "libvpx-vp9", "yuva420p", {"deadline": "realtime", "crf": "8", "b": "0"}),
        ("a.webm", "libvpx", "yuva420p", {"auto-alt-ref": "0", "crf": "8", "b": "900000"}),
        ("a.mov", "prores_ks", "yuva444p10le", {"profile": "4444"}),
    ],
    ids=["vp9", "vp8", "prores"],
)
def test_transparency_is_kept(
    tmp_path: Path, name: str, codec: str, pix_fmt: str, options: dict[str, str]
) -> None:
    path = tmp_path / name
    rgba = np.zeros((48, 64, 4), np.uint8)
    rgba[..., 0] = 200
    rgba[:, :32, 3], rgba[:, 32:, 3] = 255, 64
    with av.open(path, "w") as container:
        stream = container.add_stream(codec, rate=30, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = 64, 48, pix_fmt
        for n in range(40):
            rgba[..., 1] = n * 4
            frame = av.VideoFrame.from_ndarray(rgba, format="rgba").reformat(format=pix_fmt)
            frame.pts, frame.time_base = n, Fraction(1, 30)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with FrameSource(path, width_px=32, height_px=24) as source:
        for n in (0, 10, 39, 3):
            pixels = source.rgba_at(Fraction(n * 1000, 30)).astype(int)
            assert np.abs(pixels[12, 4] - (200, n * 4, 0, 255)).max() <= 6
            assert np.abs(pixels[12, 28] - (200, n * 4, 0, 64)).max() <= 6
        alpha = source.yuv_at(Fraction(0)).alpha
        assert alpha is not None
        assert abs(int(alpha[12, 28]) - 64) <= 2


def test_the_last_column_of_an_odd_width_is_decoded(tmp_path: Path) -> None:
    """It was black: the quick conversion to RGBA takes two columns at a time."""
    path = tmp_path / "grey.mp4"
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        pixels = np.full((240, 320, 3), 200, np.uint8)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels)))
        container.mux(stream.encode(None))
    for width_px in (213, 319, 53):
        with FrameSource(path, width_px=width_px, height_px=161) as source:
            picture = source.rgba_at(Fraction(0))
        assert np.abs(picture[..., :3].astype(int) - 200).max() <= 4


def test_decoded_frames_are_freed_without_garbage_collection(tmp_path: Path) -> None:
    """They must go without the garbage collector's help: a hundred of 1080p are 300 MB."""
    path = make_clip(tmp_path / "a.mp4", small(rotation_degrees=90))
    gc.collect()
    gc.disable()
    try:
        with FrameSource(path, width_px=48, height_px=64) as source:
            for n in range(50):
                source.rgba_at(Fraction(n * 1000, 30))
            alive = [o for o in gc.get_objects() if isinstance(o, av.VideoFrame)]
            assert len([frame for frame in alive if frame.width == WIDTH]) <= 3
            del alive
        assert not [o for o in gc.get_objects() if isinstance(o, VideoStream)]
    finally:
        gc.enable()


def test_gif_frames_are_decoded_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    with av.open(path, "w") as container:
        stream = container.add_stream("gif", rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "rgb8"
        for n in range(12):
            rgb = draw_frame_code(n, WIDTH, HEIGHT)
            frame = av.VideoFrame.from_ndarray(rgb, format="rgb24").reformat(format="rgb8")
            frame.pts, frame.time_base = n, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    with FrameSource(path, width_px=64, height_px=48) as source:
        for ms in (0, 95, 100, 1100, 5000, 350):
            assert number_at(source, Fraction(ms)) == min(11, ms // 100)


def test_the_last_frame_of_a_damaged_file_is_held(tmp_path: Path) -> None:
    whole = make_clip(tmp_path / "a.mp4", small(duration_s=Fraction(4), keyframe_every=10))
    half = tmp_path / "half.mp4"
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with FrameSource(half, width_px=64, height_px=48) as source:
        assert number_at(source, Fraction(100)) == 3
        held = number_at(source, Fraction(3900))
        assert held is not None
        assert 20 < held < 119
    with FrameSource(half, width_px=64, height_px=48) as source:
        # Going there at once finds nothing after the last keyframe; some true frame is shown.
        assert number_at(source, Fraction(3900)) is not None


def test_a_sound_file_has_no_frames(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.wav", Clip(video_codec=None, audio_codec="pcm_s16le"))
    with pytest.raises(UnreadableMedia, match=r"a\.wav: has no frames"):
        FrameSource(path, width_px=64, height_px=48)


def test_seeking_starts_at_the_keyframe_before(tmp_path: Path) -> None:
    path = make_clip(tmp_path / "a.mp4", small(duration_s=Fraction(5), keyframe_every=30))
    with VideoDecoder(path) as decoder:
        for second in (4, 1, 3):
            ticks = round(Fraction(2 * second + 1, 2) / decoder.tick_s)
            assert not decoder.seek(ticks)
            first = decoder.read()
            assert first is not None
            assert first.pts == round(second / decoder.tick_s)
