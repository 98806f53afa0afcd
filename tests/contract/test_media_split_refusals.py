"""Files that are cut off, damaged or made to do harm are refused with what is wrong, quickly."""

import random
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.truncation import check_complete
from framekiln.media.tracks.split import process_video
from tests.support.clips import Clip, make_clip

SMALL = Clip(width=64, height=48, b_frames=2, fps=Fraction(12), keyframe_every=6)
WEBM = Clip(width=64, height=48, video_codec="libvpx-vp9", audio_codec="libopus")


def refusal(path: Path) -> str:
    with pytest.raises(UnreadableMedia) as caught:
        process_video(path, path.parent / "made", report=lambda _: None)
    assert caught.value.message.startswith(f"{path.name}: ")
    return caught.value.message


def changed(path: Path, change: Callable[[bytearray], None]) -> Path:
    data = bytearray(path.read_bytes())
    change(data)
    other = path.with_stem("changed")
    other.write_bytes(data)
    return other


def put(data: bytearray, kind: bytes, offset: int, value: int) -> None:
    """Write a number into the first box of a kind, `offset` bytes after its name."""
    at = data.index(kind) + 4 + offset
    data[at : at + 4] = value.to_bytes(4)


@pytest.mark.parametrize("part", [0.01, 0.3, 0.6, 0.99], ids=str)
@pytest.mark.parametrize("name", ["front.mp4", "end.mp4", "a.mov", "a.mkv", "a.webm"])
def test_a_truncated_file_is_refused_as_truncated(tmp_path: Path, name: str, part: float) -> None:
    clip = WEBM if name.endswith("webm") else SMALL
    if name.startswith("end"):
        clip = Clip(width=64, height=48, fps=Fraction(12), faststart=False)
    whole = make_clip(tmp_path / name, clip)
    cut = changed(whole, lambda data: data.__delitem__(slice(int(len(data) * part), None)))
    assert "is truncated: " in refusal(cut)


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("a.avi", SMALL),
        ("a.wav", Clip(video_codec=None, audio_codec="pcm_s16le")),
    ],
)
def test_a_truncated_riff_file_is_refused_unless_its_length_is_unknown(
    tmp_path: Path, name: str, clip: Clip
) -> None:
    whole = make_clip(tmp_path / name, clip)
    cut = changed(whole, lambda data: data.__delitem__(slice(len(data) // 2, None)))
    assert "is truncated: " in refusal(cut)
    media = b"movi" if name.endswith("avi") else b"data"
    at = cut.read_bytes().index(media)
    at += -4 if media == b"movi" else 4

    def forget_length(data: bytearray) -> None:
        data[at : at + 4] = b"\xff" * 4

    check_complete(changed(cut, forget_length))


def test_an_empty_file_is_refused_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.touch()
    assert refusal(path) == "a.mp4: the file is empty"


@pytest.mark.parametrize(
    "data", [b"no media at all", b"\0" * 4000, b"#EXTM3U\nfile.mp4\n", b"\x1a"]
)
def test_the_refusal_of_other_files_names_the_formats_that_are_read(
    tmp_path: Path, data: bytes
) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(data)
    assert "supported formats are MP4, MOV" in refusal(path)


def many_small_samples(data: bytearray) -> None:
    for kind, offset, value in ((b"stsz", 4, 1), (b"stsz", 8, 20_000), (b"stsc", 12, 20_000)):
        put(data, kind, offset, value)
    put(data, b"stts", 8, 20_000)


CLAIMS: dict[str, Callable[[bytearray], None]] = {
    "four billion samples": lambda data: put(data, b"stsz", 8, 0xFFFFFFFF),
    "samples of a gigabyte": lambda data: put(data, b"stsz", 4, 1 << 30),
    "20000 samples": lambda data: put(data, b"stsz", 8, 20_000),
    "20000 samples of a byte": many_small_samples,
    "a table of 16 million times": lambda data: put(data, b"stts", 4, 0xFFFFFF),
    "chunks of four billion": lambda data: put(data, b"stsc", 12, 0xFFFFFFFF),
    "chunks at the end of the world": lambda data: put(data, b"stco", 8, 0xFFFFFFFF),
    "a box of four gigabytes": lambda data: put(data, b"moov", -8, 0xFFFFFFFF),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_header_that_claims_too_much_is_refused(
    tmp_path: Path, claim: Callable[[bytearray], None]
) -> None:
    clip = Clip(width=64, height=48, fps=Fraction(12), audio_codec=None)
    refusal(changed(make_clip(tmp_path / "a.mp4", clip), claim))


def test_a_file_that_claims_to_last_for_days_is_refused(tmp_path: Path) -> None:
    clip = Clip(width=64, height=48, fps=Fraction(12), audio_codec=None)

    def stretch(data: bytearray) -> None:
        # The edit list would cut it off again.
        put(data, b"edts", -4, int.from_bytes(b"free"))
        put(data, b"stts", 12, 0x7FFFFFF)

    path = changed(make_clip(tmp_path / "a.mp4", clip), stretch)
    assert "the declared duration is over 24 hours" in refusal(path)


@pytest.mark.parametrize("name", ["a.mp4", "a.mkv", "a.webm", "a.ogg", "a.mp3", "a.flac"])
def test_flipped_bits_give_tracks_or_a_refusal(tmp_path: Path, name: str) -> None:
    codecs = {".ogg": "libopus", ".mp3": "libmp3lame", ".flac": "flac"}
    clip = WEBM if name.endswith("webm") else SMALL
    if Path(name).suffix in codecs:
        clip = Clip(video_codec=None, audio_codec=codecs[Path(name).suffix])
    path = make_clip(tmp_path / name, clip)
    chance = random.Random(name)

    def flip(data: bytearray) -> None:
        for _ in range(chance.choice([1, 3, 20])):
            # Most of what can be misunderstood stands in front.
            place = chance.randrange(min(len(data), chance.choice([3000, len(data)])))
            data[place] ^= 1 << chance.randrange(8)

    outcomes = [outcome(changed(path, flip)) for _ in range(8)]
    assert all(each.startswith(("made ", "changed.")) for each in outcomes), outcomes


def outcome(path: Path) -> str:
    try:
        made = process_video(path, path.parent / "made", report=lambda _: None)
    except UnreadableMedia as error:
        return error.message
    return f"made {len(made.tracks)} tracks"


def test_sound_in_an_unknown_codec_is_left_out_beside_pictures(tmp_path: Path) -> None:
    def rename(data: bytearray) -> None:
        at = data.index(b"mp4a", data.index(b"smhd"))
        data[at : at + 4] = b"zzzz"
        put(data, b"esds", -4, int.from_bytes(b"free"))

    source = changed(make_clip(tmp_path / "a.mp4", SMALL), rename)
    made = process_video(source, tmp_path / "made", report=lambda _: None)
    assert [track.type for track in made.tracks] == ["video"]
    assert [(t.track_id, t.type, t.reason) for t in made.left_out] == [
        (2, "audio", "in a codec that cannot be decoded")
    ]
