"""Only the listed containers and codecs are opened; the documentation has the same lists."""

import re
import struct
from pathlib import Path

import av
import pytest
from av.audio.stream import AudioStream
from av.video.stream import VideoStream

from framekiln.media.container import AUDIO_CODECS, CONTAINERS, DECODERS, VIDEO_CODECS, open_media
from framekiln.media.errors import UnreadableMedia
from tests.support.realtime import ordinary_afterwards

PAGE = Path(__file__).parents[2] / "docs" / "api" / "media-formats.md"
MEDIA = Path(__file__).parents[1] / "support" / "media"
SIDE_PX = 64

# Encoder, muxer and pixel format (None for audio) of what must be opened.
ALLOWED = [
    ("libx264", "mp4", "yuv420p"),
    ("libx264", "matroska", "yuv420p"),
    ("libx265", "mov", "yuv420p"),
    ("libvpx", "webm", "yuv420p"),
    ("libvpx-vp9", "webm", "yuv420p"),
    ("libsvtav1", "mp4", "yuv420p"),
    ("mpeg4", "avi", "yuv420p"),
    ("mpeg2video", "matroska", "yuv420p"),
    ("mjpeg", "mov", "yuvj420p"),
    ("prores_ks", "mov", "yuv422p10le"),
    ("qtrle", "mov", "rgb24"),
    ("ffv1", "matroska", "yuv420p"),
    ("gif", "gif", "rgb8"),
    ("aac", "mp4", None),
    ("aac", "adts", None),
    ("libmp3lame", "mp3", None),
    ("mp2", "matroska", None),
    ("libopus", "webm", None),
    ("libopus", "ogg", None),
    ("flac", "flac", None),
    ("flac", "ogg", None),
    ("alac", "mov", None),
    ("ac3", "mp4", None),
    ("eac3", "mp4", None),
    ("pcm_s16le", "wav", None),
    ("pcm_f32le", "wav", None),
    ("pcm_s24be", "mov", None),
]
REFUSED = [
    ("huffyuv", "avi", "yuv422p"),
    ("rawvideo", "avi", "yuv420p"),
    ("cinepak", "avi", "rgb24"),
    ("wmv2", "avi", "yuv420p"),
    ("snow", "avi", "yuv420p"),
    ("zmbv", "avi", "bgr0"),
    ("wavpack", "matroska", None),
    ("tta", "matroska", None),
    ("adpcm_ms", "wav", None),
]
FOREIGN = {
    "hls": b"#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
    "concat": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "sdp": b"v=0\no=- 0 0 IN IP4 127.0.0.1\ns=a\nc=IN IP4 127.0.0.1\nm=video 9 RTP/AVP 96\n",
    "ffmetadata": b";FFMETADATA1\ntitle=a\n",
    "vobsub": b"# VobSub index file, v7 (do not modify this line!)\n",
    "webvtt": b"WEBVTT\n\n00:00.000 --> 00:01.000\na\n",
    "image2": b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 4, 4, 8, 2, 0, 0, 0),
    "bmp": b"BM" + struct.pack("<IHHIIiiHH", 100, 0, 0, 54, 40, 4, 4, 1, 24) + bytes(72),
    "roq": b"\x84\x10\xff\xff\xff\xff\x1e\0" + bytes(64),
    "asf": b"\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\x00\xaa\x00\x62\xce\x6c" + bytes(64),
    "mpegts": (b"\x47\x40\0\x10" + bytes(184)) * 12,
    "rm": b".RMF\0\0\0\x12" + bytes(64),
    "yuv4mpegpipe": b"YUV4MPEG2 W4 H4 F25:1 C420\nFRAME\n" + bytes(24),
}


def write_track(path: Path, encoder: str, muxer: str, pixels: str | None) -> None:
    with ordinary_afterwards(), av.open(path, "w", format=muxer) as container:
        if pixels:
            video = container.add_stream(encoder, rate=25)
            assert isinstance(video, VideoStream)
            video.width = video.height = SIDE_PX
            video.pix_fmt = pixels
            for number in range(3):
                frame = av.VideoFrame(SIDE_PX, SIDE_PX, "yuv420p")
                for plane in frame.planes:
                    plane.update(bytes(plane.buffer_size))
                ready = frame.reformat(format=pixels)
                ready.pts = number
                container.mux(video.encode(ready))
            container.mux(video.encode(None))
            return
        audio = container.add_stream(encoder, rate=48_000, layout="stereo")
        assert isinstance(audio, AudioStream)
        sound = av.AudioFrame(format="s16", layout="stereo", samples=8192)
        sound.rate, sound.pts = 48_000, 0
        sound.planes[0].update(bytes(sound.planes[0].buffer_size))
        container.mux(audio.encode(sound))
        container.mux(audio.encode(None))


@pytest.mark.parametrize(("encoder", "muxer", "pixels"), ALLOWED)
def test_a_listed_format_is_opened(
    tmp_path: Path, encoder: str, muxer: str, pixels: str | None
) -> None:
    path = tmp_path / "a"
    write_track(path, encoder, muxer, pixels)
    with open_media(path) as container:
        (stream,) = container.streams
        assert stream.codec_context.codec.name in DECODERS
        assert len(list(container.decode(stream))) > 0


@pytest.mark.parametrize(("encoder", "muxer", "pixels"), REFUSED)
def test_another_codec_is_refused_by_name(
    tmp_path: Path, encoder: str, muxer: str, pixels: str | None
) -> None:
    path = tmp_path / "a"
    write_track(path, encoder, muxer, pixels)
    allowed = "H.264, HEVC" if pixels else "AAC, MP3"
    kind = "video" if pixels else "audio"
    with pytest.raises(UnreadableMedia, match=f"its {kind} track is in the codec {encoder};"):
        open_media(path)
    with pytest.raises(UnreadableMedia, match=f"supported are {allowed}"):
        open_media(path)


@pytest.mark.parametrize("name", FOREIGN)
def test_another_container_is_refused_before_it_is_read(tmp_path: Path, name: str) -> None:
    # FFmpeg recognizes it, playlists only with their extension, and may not open it.
    path = tmp_path / "a.m3u8"
    path.write_bytes(FOREIGN[name])
    with pytest.raises(UnreadableMedia, match=r"another kind of file.* supported formats are MP4"):
        open_media(path)


def test_a_refusal_says_what_the_file_is() -> None:
    with pytest.raises(UnreadableMedia, match="another kind of file: video/x-flv"):
        open_media(MEDIA / "cut-off.flv")


@pytest.mark.parametrize(
    ("channels", "rate_hz", "message"),
    [
        (400, 48_000, "has 400 audio channels; at most 64"),
        (2, 5, "audio at 5 Hz; supported are 1,000 to 768,000 Hz"),
        (1, 2_000_000_000, "audio at 2000000000 Hz"),
    ],
)
def test_sound_with_absurd_parameters_is_refused(
    tmp_path: Path, channels: int, rate_hz: int, message: str
) -> None:
    step_bytes = 2 * channels
    form = struct.pack("<HHIIHH", 1, channels, rate_hz, 1 << 20, step_bytes, 16)
    data = bytes(step_bytes * 1000)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form
    body += b"data" + struct.pack("<I", len(data)) + data
    path = tmp_path / "a.wav"
    path.write_bytes(b"RIFF" + struct.pack("<I", len(body)) + body)
    with pytest.raises(UnreadableMedia, match=message):
        open_media(path)


def test_the_documentation_has_the_same_lists() -> None:
    lists, _, _ = PAGE.read_text("utf-8").partition("| Limit |")
    listed = dict(re.findall(r"^\| (Containers|Video|Audio) \| (.+?) \|$", lists, re.M))
    assert {row: names.split(", ") for row, names in listed.items()} == {
        "Containers": list(CONTAINERS),
        "Video": list(VIDEO_CODECS),
        "Audio": list(AUDIO_CODECS),
    }
