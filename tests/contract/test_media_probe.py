"""What `probe` says about real files, and which files it refuses."""

from fractions import Fraction
from pathlib import Path

import av
import pytest

from framekiln.media.errors import UnreadableMedia
from framekiln.media.isobmff.boxes import boxes_in
from framekiln.media.probe.media_file import probe_media
from tests.support.clips import Clip, make_clip, make_still


def test_an_mp4_is_described_exactly(tmp_path: Path) -> None:
    clip = Clip(fps=Fraction(30000, 1001), width=160, height=96, b_frames=2)
    facts = probe_media(make_clip(tmp_path / "a.mp4", clip))
    assert facts.container.startswith("mov,mp4")
    assert facts.duration_ms == Fraction(60 * 1001, 30)
    assert facts.video is not None
    assert (facts.video.width_px, facts.video.height_px) == (160, 96)
    assert facts.video.fps == Fraction(30000, 1001)
    assert (facts.video.codec, facts.video.pix_fmt) == ("h264", "yuv420p")
    assert not facts.video.has_alpha
    assert facts.video.start_ms == 0
    assert facts.audio is not None
    assert (facts.audio.codec, facts.audio.rate_hz, facts.audio.channels) == ("aac", 48_000, 2)


@pytest.mark.parametrize("degrees", [90, 180, 270])
def test_the_size_is_that_of_the_rotated_picture(tmp_path: Path, degrees: int) -> None:
    path = make_clip(tmp_path / "a.mp4", Clip(rotation_degrees=degrees, duration_s=Fraction(1, 5)))
    video = probe_media(path).video
    assert video is not None
    assert video.rotation_degrees == degrees
    turned = degrees in (90, 270)
    assert (video.width_px, video.height_px) == ((240, 320) if turned else (320, 240))


@pytest.mark.parametrize(
    ("name", "codec", "off_ms"),
    [
        ("a.wav", "pcm_s16le", 0),
        ("a.flac", "flac", 0),
        ("a.mp3", "libmp3lame", 0),
        ("a.m4a", "aac", 0),
        ("a.ogg", "libopus", 0),
        # Their headers count the encoder's delay or padding as sound.
        ("a.aac", "aac", 30),
        ("a.webm", "libopus", 10),
    ],
)
def test_sound_files_have_no_picture_and_their_true_length(
    tmp_path: Path, name: str, codec: str, off_ms: int
) -> None:
    facts = probe_media(make_clip(tmp_path / name, Clip(video_codec=None, audio_codec=codec)))
    assert facts.video is None
    assert facts.audio is not None
    assert facts.audio.start_ms == 0
    assert 0 <= facts.duration_ms - 2000 <= off_ms


def test_an_avi_is_as_long_as_its_longest_track(tmp_path: Path) -> None:
    """Its header states a longer duration if frames are decoded in another order."""
    clip = Clip(b_frames=2, audio_codec="libmp3lame")
    path = make_clip(tmp_path / "a.avi", clip)
    with av.open(path) as container:
        ends_s = [
            (packet.pts + (packet.duration or 0)) * packet.time_base
            for packet in container.demux()
            if packet.pts is not None
        ]
    assert probe_media(path).duration_ms == max(ends_s) * 1000


def test_a_recording_without_a_length_in_its_header_is_measured(tmp_path: Path) -> None:
    source = make_clip(tmp_path / "a.mp4", Clip(audio_codec=None))
    live = tmp_path / "live.mkv"
    with av.open(source) as read, av.open(live, "w", options={"live": "1"}) as written:
        stream = written.add_stream_from_template(read.streams.video[0], opaque=True)
        for packet in read.demux(video=0):
            if packet.dts is not None:
                packet.stream = stream
                written.mux(packet)
    with av.open(live) as container:
        assert container.duration is None
    assert abs(probe_media(live).duration_ms - 2000) <= 1


def test_the_end_of_fragments_from_the_middle_of_a_stream_is_that_of_the_last(
    tmp_path: Path,
) -> None:
    """As parts of a live stream are saved; the time before them counted twice."""
    source = make_clip(tmp_path / "a.mp4", Clip(duration_s=Fraction(3)))
    options = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
    with av.open(source) as read, av.open(tmp_path / "b.mp4", "w", options=options) as written:
        copies = [written.add_stream_from_template(each, opaque=True) for each in read.streams]
        for packet in read.demux():
            if packet.dts is not None:
                packet.stream = copies[packet.stream_index]
                written.mux(packet)
    data = (tmp_path / "b.mp4").read_bytes()
    boxes = [data[box.start : box.end] for box in boxes_in(data) if box.kind != "mfra"]
    part = tmp_path / "part.mp4"
    # Without the fragment of the first second, which has a box of headers and one of media.
    part.write_bytes(b"".join(boxes[:2] + boxes[4:]))
    with av.open(part) as container:
        ends = [(packet.pts, packet) for packet in container.demux() if packet.pts is not None]
        end_ms = max((pts + (each.duration or 0)) * each.time_base * 1000 for pts, each in ends)
        assert min(pts * each.time_base for pts, each in ends) > Fraction(9, 10)
    assert probe_media(part).duration_ms == end_ms


@pytest.mark.parametrize(
    "text",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nsecret.mp4\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile secret.mp4\n",
        "just text",
        "",
    ],
    ids=["hls", "concat", "text", "empty"],
)
def test_files_that_are_not_media_are_refused_whatever_their_name(
    tmp_path: Path, text: str
) -> None:
    make_clip(tmp_path / "secret.mp4", Clip(duration_s=Fraction(1, 5)))
    (tmp_path / "list.mp4").write_text(text)
    with pytest.raises(UnreadableMedia, match=r"list\.mp4: not readable as video or sound") as info:
        probe_media(tmp_path / "list.mp4")
    assert info.value.code == "unreadable_media"


def test_an_image_file_is_refused(tmp_path: Path) -> None:
    still = make_still(tmp_path / "a.png")
    with pytest.raises(UnreadableMedia, match="another kind of file"):
        probe_media(still)


def test_a_missing_file_is_named_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UnreadableMedia) as info:
        probe_media(tmp_path / "gone.mp4")
    assert info.value.message == "gone.mp4: the file does not exist"


def test_a_file_name_is_never_read_as_a_protocol(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_clip(tmp_path / "a.mp4", Clip(duration_s=Fraction(1, 5)))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UnreadableMedia, match="does not exist"):
        probe_media(Path("subfile,,start,0,end,100000,,:a.mp4"))


def test_a_file_cut_off_before_its_index_is_refused(tmp_path: Path) -> None:
    whole = make_clip(tmp_path / "a.mp4", Clip(faststart=False))
    half = tmp_path / "half.mp4"
    half.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    with pytest.raises(UnreadableMedia, match=r"half\.mp4"):
        probe_media(half)


def test_a_picture_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wide.mkv"
    with av.open(path, "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height, stream.pix_fmt = 8200, 16, "gray"
        container.mux(stream.encode(av.VideoFrame(8200, 16, "gray")))
        container.mux(stream.encode(None))
    with pytest.raises(UnreadableMedia, match="8200x16; at most 8192 pixels a side"):
        probe_media(path)


def test_a_file_with_too_many_tracks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "many.mkv"
    with av.open(path, "w") as container:
        streams = [container.add_stream("pcm_s16le", rate=8000, layout="mono") for _ in range(33)]
        for stream in streams:
            frame = av.AudioFrame("s16", "mono", 800)
            frame.sample_rate, frame.pts = 8000, 0
            container.mux(stream.encode(frame))
    with pytest.raises(UnreadableMedia, match="has 33 tracks; at most 32"):
        probe_media(path)
