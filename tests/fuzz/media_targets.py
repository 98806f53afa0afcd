"""Bundles, MP4 fragments, captions, screenshots and the first bytes of files."""

import base64
import gzip
import io
import tarfile
import tempfile
import zipfile
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from framekiln.capture.page import FrameSize
from framekiln.capture.screenshot import read_png
from framekiln.cli.compositions import read_composition
from framekiln.files.fragment_index import bytes_needed, check_index, index_facts
from framekiln.files.frame_times import read_times
from framekiln.files.streams.validation import check_fragment, check_init
from framekiln.kit.lottie import lottie_facts
from framekiln.media.caption_check import check_captions as check_caption_bytes
from framekiln.media.captions import CaptionSpans, read_captions
from framekiln.media.images.frame_times import short_delay_offsets
from framekiln.media.images.stills import PngFormat, decode_bgra, encode_still
from framekiln.media.isobmff.film_file import FilmFile
from framekiln.media.isobmff.stated_end import stated_end
from framekiln.media.isobmff.track_file import FragmentSegment, FragmentSplitter, TrackFile
from framekiln.media.isobmff.track_init import parse_init
from framekiln.media.lottie_file import read_lottie
from framekiln.media.sniff import sniff
from framekiln.renders.bundle import read_index, unpack
from tests.fuzz.mutations import changed_bytes, changed_json, changed_text, json_bytes
from tests.fuzz.targets import FuzzTarget
from tests.support.lottie_archives import (
    image_animation,
    lottie_archive,
    packed_square,
    red_image,
)
from tests.support.mp4_boxes import (
    ESDS,
    NOT_SYNC,
    SYNC,
    BoxTrack,
    SampleRun,
    box,
    fragment,
    full_box,
    init_segment,
    numbers,
    sound_entry,
    video_entry,
)

RUN = SampleRun(dts=120, samples=((40, 10, SYNC, 40), (40, 7, NOT_SYNC, 80), (40, 5, NOT_SYNC, 0)))
INIT = init_segment(BoxTrack(edits=((0, 40),)))
SOUND = init_segment(BoxTrack(handler=b"soun", entry=sound_entry("mp4a", box("esds", ESDS))))
FILM = INIT + fragment(RUN) + fragment(SampleRun(dts=240))
# The parameter sets of a film of ours, and three frames in two chunks.
AVCC = bytes.fromhex(
    "0164000affe100196764000aacd9447a6a02020280000003008000001e078912cb01000568ef823cb0fdf8f800"
)
TABLES = (
    full_box("stsz", 0, numbers(0, 3, 10, 7, 5))
    + full_box("stts", 0, numbers(1, 3, 40))
    + full_box("ctts", 0, numbers(2, 1, 80, 2, 0))
    + full_box("stsc", 0, numbers(2, 1, 2, 1, 2, 1, 1))
    + full_box("stco", 0, numbers(2, 8, 25))
    + full_box("stss", 0, numbers(1, 1))
)
PLAIN_FILM = box("mdat", bytes(22)) + init_segment(
    BoxTrack(entry=video_entry("avc1", box("avcC", AVCC)), edits=((0, 80),), tables=TABLES)
)
FRAME_TIMES = {"frame_count": 3, "tick_s": [1, 30], "end": 3, "starts": [0, 1, 2]}
INDEX = {
    "1": {
        "track": 1,
        "type": "video",
        "timescale": 1000,
        "duration": 2000,
        "width": 64,
        "height": 36,
        "initSegment": {"offset": 0, "size": 100},
        "segments": [{"cts": 0, "dts": 0, "duration": 1000, "offset": 100, "size": 50}],
    }
}
INDEX_NAMES = (*INDEX["1"], "offset", "size", "cts", "dts", "1", "2", "-1")
VTT = (
    "WEBVTT\n\nNOTE x\n\n1\n00:00:01.000 --> 00:00:02.500 align:start\n"
    "<v Ann>Hello <00:00:01.500>there &amp; you\n\n00:03.000 --> 00:04.000\nBye\n"
)
SRT = (
    "1\n00:00:01,000 --> 00:00:02,000\n{\\an8}<i>Hi</i>\n\n2\n00:00:02,000 --> 00:00:03,000\nYou\n"
)
CAPTION_WORDS = (
    *("-->", "<", ">", "&", "\n", "\n\n", "00:00:01.500", "9999:59:59.999", "NOTE", "{\\"),
    *("<00:00:01.200>", "\r", "\u2028", "\ufeff", "</", "&#x110000;"),
)
CAPTION_JSON = (
    b'{"segments": [{"start": 0, "end": 1.5, "text": "a", "words": [{"word": "a"}]}]}',
    b'[{"start": 0, "end": 1e3, "text": "a"}]',
    b'{"word_segments": [{"start": 0, "end": 1, "text": "a"}]}',
)
# The GIF of one pixel, with a delay.
GIF = bytes.fromhex(
    "47494638396101000100800000000000ffffff21ff0b4e45545343415045322e30030100000021f904000100000"
    "02c00000000010001000002024401003b"
)
HEADS = (GIF, FILM[:64], VTT.encode(), b"<?xml version='1.0'?><!-- x --><svg/>", b"OggS", b"RIFF")


def _tar(form: int) -> bytes:
    """Return an archive with all kinds of entries, of which a bundle may have two."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as tar:
        entries = [
            ("index.html", tarfile.REGTYPE, b"<p>Hi"),
            ("a", tarfile.DIRTYPE, b""),
            ("a/" + "n" * 120, tarfile.REGTYPE, b"long"),
            ("link", tarfile.SYMTYPE, b""),
            ("hard", tarfile.LNKTYPE, b""),
            ("pipe", tarfile.FIFOTYPE, b""),
        ]
        for name, kind, content in entries:
            info = tarfile.TarInfo(name)
            info.type, info.size, info.linkname = kind, len(content), "/etc/passwd"
            if form == tarfile.PAX_FORMAT:
                info.pax_headers = {"comment": "x" * 20, "mtime": "1.5"}
            tar.addfile(info, io.BytesIO(content))
    return made.getvalue()


def _with_checksums(tar: bytes) -> bytes:
    """Return the archive with correct checksums: without them no changed header is ever read."""
    data = bytearray(tar)
    for at in range(0, len(data) - 511, 512):
        if data[at + 257 : at + 262] == b"ustar":
            data[at + 148 : at + 156] = b" " * 8
            data[at + 148 : at + 156] = b"%06o\0 " % sum(data[at : at + 512])
    return bytes(data)


def _zip() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, text in (("index.html", "<p>Hi"), ("a/b.css", "b { color: red }" * 20)):
            packed.writestr(zipfile.ZipInfo(name), text)
    return made.getvalue()


WINDOW = FrameSize(8, 4)
SCREENSHOT = encode_still(np.arange(128, dtype=np.uint8).reshape(4, 8, 4), PngFormat())
TARS = tuple(_tar(form) for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT))
GOOD_TARS = tuple(tar[: tar.find(b"link\0")] + bytes(1024) for tar in TARS)
ZIPPED = tuple(gzip.compress(tar, mtime=0) for tar in GOOD_TARS)


def _packed(tar: bytes) -> bytes:
    return gzip.compress(_with_checksums(tar), compresslevel=1, mtime=0)


def check_bundle_bytes(packed: bytes) -> None:
    """Nothing is written outside the folder, and only plain files inside."""
    with tempfile.TemporaryDirectory() as place:
        folder, archive = Path(place, "in", "side"), Path(place, "bundle")
        folder.mkdir(parents=True)
        archive.write_bytes(packed)
        try:
            unpack(archive, folder)
            read_index(folder)
        finally:
            assert {path.name for path in Path(place).iterdir()} == {"in", "bundle"}
            assert [path.name for path in folder.parent.iterdir()] == ["side"]
            assert all((path.is_file() or path.is_dir()) for path in folder.rglob("*"))
            assert not any(path.is_symlink() for path in folder.rglob("*"))


def check_zip(packed: bytes) -> None:
    """The same for ZIP files of `framekiln render`."""
    with tempfile.TemporaryDirectory() as place:
        scratch, archive = Path(place, "in"), Path(place, "bundle.zip")
        scratch.mkdir()
        archive.write_bytes(packed)
        try:
            read_composition(archive, scratch=scratch)
        finally:
            assert {path.name for path in Path(place).iterdir()} == {"in", "bundle.zip"}
            assert {path.name for path in scratch.iterdir()} <= {"bundle"}
            assert not any(path.is_symlink() for path in scratch.rglob("*"))


def check_screenshot(data: bytes) -> None:
    """What passes the check has the size of the window, or cannot be decoded."""
    passed = read_png(base64.b64encode(data).decode(), WINDOW)
    assert decode_bgra(passed).shape == (WINDOW.height_px, WINDOW.width_px, 4)


def check_film(data: bytes) -> None:
    """Fragments are in order, and the samples inside them."""
    splitter = FragmentSplitter()
    fragments = [part for part in splitter.feed(data) if isinstance(part, FragmentSegment)]
    for part in fragments:
        assert all(
            0 <= sample.offset <= sample.end <= len(part.data) for sample in part.facts.samples
        )
    assert all(one.facts.end_dts <= two.facts.dts for one, two in pairwise(fragments))
    splitter.finish()


def check_film_file(data: bytes) -> None:
    """A track file is read or refused."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        with TrackFile(Path(file.name)) as track:
            for _ in track.fragments(track.read_init()):
                pass


def check_plain_film(data: bytes) -> None:
    """A film is read or refused; its samples have at most the bytes of the file."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        stated = stated_end(Path(file.name), 1, start_s=Fraction(0))
        assert stated is None or stated.end_s > 0
        with FilmFile(Path(file.name)) as film:
            film.video()
            film.timescale("video")
            assert sum(len(sample.data) for sample in film.samples("video")) <= len(data)


def check_streamed(parts: tuple[bytes, bytes]) -> None:
    """An init segment and a fragment of a streamed upload are verified or refused."""
    init_bytes, fragment_bytes = parts
    init = check_init(init_bytes, "video")
    assert init == parse_init(init_bytes)
    with tempfile.NamedTemporaryFile() as file:
        file.write(fragment_bytes)
        file.flush()
        check_fragment(init, Path(file.name), end_dts=120)


def check_index_bytes(data: bytes) -> None:
    """An accepted index stays inside its tracks."""
    index = check_index(data, {"1": 1000})
    assert all(bytes_needed(entry) <= 1000 for entry in index.values())
    index_facts(index)


def check_captions(text: str) -> None:
    """Words lie in order inside the film, and no text is invented."""
    track = read_captions(text.encode("utf-8", "surrogatepass"))
    assert all(0 <= each.start_ms <= each.end_ms for each in (*track.segments, *track.words))
    assert sum(len(each.text) for each in track.segments) <= len(text)
    spans = CaptionSpans(track.segments)
    assert len(list(spans.texts_from(0))) <= 2 * len(track.segments)


def check_caption_file(data: bytes) -> None:
    """A caption file of any kind is counted or refused."""
    assert check_caption_bytes(data).cue_count >= 0


def check_head(data: bytes) -> None:
    """Any file has a type, or none."""
    sniff(data)
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        assert all(0 <= at < len(data) - 1 for at in short_delay_offsets(Path(file.name)))


def check_lottie_archive(data: bytes) -> None:
    """An archive is an animation with its images, or refused."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        assert lottie_facts(read_lottie(Path(file.name))).duration_s > 0


LOTTIE = lottie_archive({"a/x.json": image_animation(), "i/red.png": red_image()})


def check_frame_times(data: bytes) -> None:
    times = read_times(data)
    assert all(type(each) is int for each in (*times.tick_s, *times.starts))


TARGETS = (
    FuzzTarget("bundle", changed_bytes(TARS + GOOD_TARS).map(_packed), check_bundle_bytes),
    FuzzTarget("packed_bundle", changed_bytes(ZIPPED), check_bundle_bytes),
    FuzzTarget("zip", changed_bytes([_zip()]), check_zip),
    FuzzTarget("screenshot", changed_bytes([SCREENSHOT]), check_screenshot),
    FuzzTarget("film", changed_bytes([FILM, INIT, SOUND]), check_film),
    FuzzTarget("plain_film", changed_bytes([PLAIN_FILM]), check_plain_film),
    FuzzTarget("film_file", changed_bytes([FILM, INIT, SOUND]), check_film_file),
    FuzzTarget(
        "streamed",
        st.tuples(st.just(INIT) | changed_bytes([INIT, SOUND]), changed_bytes([fragment(RUN)])),
        check_streamed,
    ),
    FuzzTarget("index", changed_json([INDEX], INDEX_NAMES).map(json_bytes), check_index_bytes),
    FuzzTarget("index_bytes", changed_bytes([json_bytes(INDEX)]), check_index_bytes),
    FuzzTarget("frame_times", changed_bytes([json_bytes(FRAME_TIMES)]), check_frame_times),
    FuzzTarget("captions", changed_text([VTT, SRT], CAPTION_WORDS), check_captions),
    FuzzTarget("caption_file", changed_bytes([VTT.encode(), *CAPTION_JSON]), check_caption_file),
    FuzzTarget("lottie_archive", changed_bytes([packed_square(), LOTTIE]), check_lottie_archive),
    FuzzTarget("head", changed_bytes(HEADS), check_head),
)
