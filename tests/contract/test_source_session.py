"""Sources in a confined child: the same frames as in this process, and nothing trusted."""

import os
import struct
import wave
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.cli.doctor_checks import check_media_confinement
from framekiln.engine.page.host import PageHost
from framekiln.kit.confined.errors import ConfinedKilled
from framekiln.kit.confined.limits import SessionLimits
from framekiln.kit.confined.session import ConfinedSession, SessionPool
from framekiln.kit.errors import FramekilnError
from framekiln.kit.media_kind import MediaKind
from framekiln.kit.ranged_path import BLOCK_BYTES, SparseCopy, ranged_path
from framekiln.media.decode.frame_source import FrameSource
from framekiln.media.decode.picture_frames import PictureFrames
from framekiln.media.errors import UnreadableMedia
from framekiln.media.images.image_source import ImageSource
from framekiln.media.probe.source import probe_source
from framekiln.media.source_session import SessionImage, SourceSession, checked_facts
from tests.support.decoders import decoders
from tests.support.hdr_clips import make_patches
from tests.support.layer_media import glass
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets
from tests.support.sample_sources import SOURCES, clip
from tests.support.timeouts import TIMEOUT_S
from tests.support.unusual_clips import CHROMA_444, INTERLACED, MJPEG, PRORES, make_pictures

SIZE = (64, 48)
NAMESPACES = {"ipc", "mnt", "net", "pid", "uts"}
SECRET = "a secret of the service"
BUNNY = Path(__file__).parents[2] / "examples/media/bunny.mp4"
HOSTILE = "tests.support.session_sources:Hostile"
LIMITS = SessionLimits(request_s=TIMEOUT_S, request_cpu_s=int(TIMEOUT_S))
# Forward by frames, then back, far ahead, and beyond the end.
INSTANTS = [
    *(Fraction(n * 1000, 30) for n in range(12)),
    Fraction(50),
    Fraction(900),
    Fraction(9000),
]

VIDEOS: dict[str, Callable[[Path], object]] = {
    "clip.mp4": clip,
    "varying.mp4": SOURCES["varying.mp4"],
    "turned.mp4": SOURCES["turned.mp4"],
    "hdr.mp4": partial(make_patches, patches=[(100, 100, 100), (900, 40, 0)], curve="pq"),
    "interlaced.mp4": partial(make_pictures, coding=INTERLACED, count=24),
    "alpha.webm": glass,
    "chroma.mp4": partial(make_pictures, coding=CHROMA_444, count=24),
    "deep.mov": partial(make_pictures, coding=PRORES, count=24, rotation_degrees=180),
    "jpegs.avi": partial(make_pictures, coding=MJPEG, count=24),
}
IMAGES = [name for name in SOURCES if name.endswith((".gif", ".webp", ".png", ".jpg", ".avif"))]


@pytest.fixture(scope="module")
def session() -> Iterator[SourceSession]:
    with SourceSession(LIMITS) as session:
        yield session


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[ConfinedSession]:
    pool = SessionPool(["tests.support.session_sources"])
    (tmp_path / "x").touch()
    with pool.open(LIMITS) as session:
        yield session
    pool.close()


def test_doctor_reports_how_a_running_decoder_is_confined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compare its words with what the kernel says about the process, from outside."""
    monkeypatch.setenv("FRAMEKILN_API_KEY", SECRET)
    clip(tmp_path / "clip.mp4")
    before = decoders()
    with SourceSession(LIMITS) as session:
        session.probe(tmp_path / "clip.mp4")
        (pid,) = decoders() - before
        process = Path(f"/proc/{pid}")
        status = fields_of(process / "status", ":")
        own = {kind for kind in NAMESPACES if is_own_namespace(process, kind)}
        limits = (process / "limits").read_text()
        environment = (process / "environ").read_bytes()
    described = check_media_confinement().detail.split(", ")
    assert ("bubblewrap" in described) == (own == NAMESPACES)
    assert ("seccomp" in described) == (status["Seccomp"] == "2")
    user = status["Uid"].split()[0]
    assert user != "0"
    # Without root, the user of the description exists in the namespace only.
    assert os.geteuid() != 0 or f"user {user}" in described
    assert (status["NoNewPrivs"], int(status["CapEff"], 16)) == ("1", 0)
    for name, most in (
        ("Max data size", LIMITS.memory_bytes),
        ("Max core file size", 0),
        ("Max realtime priority", 0),
    ):
        assert int(limits.partition(name)[2].split()[0]) <= most, name
    assert SECRET.encode() not in environment
    assert b"FRAMEKILN" not in environment


def fields_of(path: Path, separator: str) -> dict[str, str]:
    pairs = (line.partition(separator) for line in path.read_text().splitlines())
    return {name: value.strip() for name, _, value in pairs}


def is_own_namespace(process: Path, kind: str) -> bool:
    return (process / "ns" / kind).readlink() != Path("/proc/self/ns", kind).readlink()


@pytest.mark.parametrize("name", VIDEOS)
def test_a_video_has_the_same_frames_in_the_child(
    session: SourceSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    VIDEOS[name](path)
    ours = session.open_frames(MediaKind.VIDEO, path, size=SIZE)
    planes = session.open_planes(path, size=SIZE)
    assert session.probe(path) == probe_source(path)
    with FrameSource(path, width_px=SIZE[0], height_px=SIZE[1]) as plain:
        for ms in INSTANTS:
            assert ours.shown_ms(ms) == planes.shown_ms(ms) == plain.shown_ms(ms)
            assert np.array_equal(ours.rgba_at(ms), plain.rgba_at(ms))
            wanted, found = plain.yuv_at(ms), planes.yuv_at(ms)
            for plane in ("luma", "blue", "red", "alpha"):
                assert np.array_equal(getattr(found, plane), getattr(wanted, plane)), (ms, plane)
    ours.close()
    planes.close()


@pytest.mark.parametrize("name", IMAGES)
def test_an_image_has_the_same_frames_in_the_child(
    session: SourceSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    SOURCES[name](path)
    image, frames = session.open_image(path), session.open_frames(MediaKind.IMAGE, path, size=SIZE)
    with ImageSource(path) as plain, PictureFrames(path, width_px=64, height_px=48) as scaled:
        assert (image.size, image.ends_ms) == (plain.size, plain.ends_ms)
        assert image.plays == plain.facts.times.plays
        for number in (*range(len(plain.ends_ms)), 0):
            assert np.array_equal(image.rgba(number), plain.rgba(number))
        for ms in INSTANTS:
            assert image.number_at(ms) == plain.number_at(ms)
            assert frames.shown_ms(ms) == scaled.shown_ms(ms)
            assert np.array_equal(frames.rgba_at(ms), scaled.rgba_at(ms))
    image.close()
    frames.close()


@pytest.mark.parametrize("name", SOURCES)
def test_facts_from_the_child_are_those_of_the_probe(
    session: SourceSession, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    SOURCES[name](path)
    assert session.probe(path) == probe_source(path)


def test_a_remote_source_is_fetched_in_parts(session: SourceSession, tmp_path: Path) -> None:
    content = BUNNY.read_bytes()
    fetched: list[range] = []

    def get(start: int, end: int) -> bytes:
        fetched.append(range(start, end))
        return content[start:end]

    sparse = tmp_path / "sparse.mp4"
    remote = ranged_path(sparse, SparseCopy(sparse, len(content), get))
    frames = session.open_frames(MediaKind.VIDEO, remote, size=SIZE)
    with FrameSource(BUNNY, width_px=SIZE[0], height_px=SIZE[1]) as plain:
        for ms in map(Fraction, (0, 40, 80)):
            assert np.array_equal(frames.rgba_at(ms), plain.rgba_at(ms))
    assert sum(map(len, fetched)) < len(content) - BLOCK_BYTES
    assert session.probe(remote) == probe_source(BUNNY)
    frames.close()


def test_an_unreadable_source_is_refused_as_in_this_process(
    session: SourceSession, tmp_path: Path
) -> None:
    path = tmp_path / "broken.mp4"
    path.write_bytes(b"not a video at all")
    with pytest.raises(FramekilnError) as ours:
        session.probe(path)
    with pytest.raises(FramekilnError) as plain:
        probe_source(path)
    assert (type(ours.value), ours.value.message) == (type(plain.value), plain.value.message)
    with pytest.raises(UnreadableMedia):
        session.open_planes(path, size=SIZE)


FACTS = {"width_px": 4, "height_px": 4, "ends_ms": ["10", "20"], "plays": None}


@pytest.mark.parametrize(
    "lie",
    [
        {"width_px": 0},
        {"width_px": -4},
        {"height_px": 1 << 40},
        {"width_px": 16_384, "height_px": 16_384},
        {"width_px": "4"},
        {"width_px": True},
        {"ends_ms": None},
        {"ends_ms": ["20", "10"]},
        {"ends_ms": ["0", "0"]},
        {"ends_ms": ["1/0"]},
        {"ends_ms": ["9" * 40]},
        {"ends_ms": ["1"] * 30_000},
        {"plays": -1},
    ],
)
def test_impossible_facts_of_an_image_are_refused(
    hostile: ConfinedSession, tmp_path: Path, lie: dict[str, Any]
) -> None:
    source = hostile.open(HOSTILE, tmp_path / "x", {"facts": FACTS | lie})
    with pytest.raises(ConfinedKilled, match="invalid answer"):
        SessionImage(source)


@pytest.mark.parametrize(
    "lie",
    [
        {"kind": "program"},
        {"more": 1},
        {"width_px": "wide"},
        {"height_px": -1},
        {"codec": "x" * 1000},
        {"fps": "0"},
        {"fps": "1e999999"},
        {"duration_s": "-1"},
        {"frame_ms": "1"},
        {"has_alpha": "no"},
        {"channels": [2]},
    ],
)
def test_impossible_facts_of_a_source_are_refused(
    hostile: ConfinedSession, tmp_path: Path, lie: dict[str, Any]
) -> None:
    SOURCES["still.png"](tmp_path / "a.png")
    facts = probe_source(tmp_path / "a.png").to_json() | lie
    source = hostile.open(HOSTILE, tmp_path / "x", {"facts": facts})
    with pytest.raises(ConfinedKilled, match="invalid answer"):
        checked_facts(source)


def test_a_large_animation_is_refused_at_once(session: SourceSession, tmp_path: Path) -> None:
    """3.5 KB that take 90 seconds to draw: 150 pictures of 8192x8192."""
    path = tmp_path / "bomb.gif"
    part = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x4c\x01\x00"
    head = b"GIF89a" + struct.pack("<HHBBB", 8192, 8192, 0x80, 0, 0) + bytes(3) + b"\xff" * 3
    path.write_bytes(head + 150 * (b"\x21\xf9\x04\x00\x0a\x00\x00\x00" + part) + b"\x3b")
    with pytest.raises(FramekilnError, match=r"150 frames of 8192x8192"):
        session.probe(path)
    with pytest.raises(FramekilnError, match=r"150 frames of 8192x8192"):
        session.open_image(path)


def test_scripts_get_samples_from_late_in_a_long_sound(browser: Browser, tmp_path: Path) -> None:
    """Sample numbers beyond 2**20 (22 s) had been refused."""

    def ends_with_tone(path: Path) -> None:
        samples = np.zeros(26 * 48_000, "<i2")
        samples[25 * 48_000 :] = 8192
        with wave.open(str(path), "wb") as file:
            file.setparams((1, 2, 48_000, 0, "NONE", ""))
            file.writeframes(samples.tobytes())

    assets = LocalAssets(tmp_path, {"long.wav": ends_with_tone})
    sound = f"http://127.0.0.1/__framekiln/sound?src={MEDIA_ORIGIN}long.wav&count=2&first="
    with PageHost(assets, browser) as host:
        found = host.lookup(f"{sound}{25 * 48_000 - 1}")
    assert found is not None
    assert isinstance(found.body, bytes)
    assert np.frombuffer(found.body, "<f4").tolist() == [0, 0, 0.25, 0.25]
