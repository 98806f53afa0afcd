"""Bundles are unpacked without trusting them."""

import gzip
import io
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from framekiln.renders import bundle
from framekiln.renders.bundle import check_bundle, unpack
from framekiln.renders.errors import BadBundle, BundleTooLarge


def make_archive(path: Path, entries: dict[str, bytes], *extra: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for info in extra:
            tar.addfile(info)
    return path


def unpacked(archive: Path) -> Path:
    folder = archive.with_suffix(".d")
    folder.mkdir()
    unpack(archive, folder)
    return folder


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def test_all_files_of_a_bundle_are_unpacked(tmp_path: Path) -> None:
    entries = {"./index.html": b"<p>", "./assets/app.js": b"1", "assets/deep/x.bin": b"\0\1"}
    folder = unpacked(make_archive(tmp_path / "b", entries))
    assert (folder / "index.html").read_bytes() == b"<p>"
    assert (folder / "assets/deep/x.bin").read_bytes() == b"\0\1"


@pytest.mark.parametrize("name", ["../evil", "a/../../evil", "/etc/evil", "a\\..\\evil"])
def test_an_entry_outside_the_bundle_is_refused(name: str, tmp_path: Path) -> None:
    archive = make_archive(tmp_path / "b", {"index.html": b"x", name: b"evil"})
    with pytest.raises(BadBundle, match="leads out"):
        unpacked(archive)
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused_by_name(kind: bytes, tmp_path: Path) -> None:
    extra = link("assets/passwd", "/etc/passwd", kind)
    with pytest.raises(BadBundle, match="assets/passwd"):
        unpacked(make_archive(tmp_path / "b", {"index.html": b"x"}, extra))


def test_an_archive_without_a_page_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadBundle, match=r"no index\.html at its root"):
        unpacked(make_archive(tmp_path / "b", {"dist/index.html": b"x"}))


def test_a_decompression_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_UNPACKED_BYTES", 1 << 20)
    archive = make_archive(tmp_path / "b", {"index.html": b"x", "zeros": bytes(8 << 20)})
    with pytest.raises(BundleTooLarge, match="unpacks to more than"):
        unpacked(archive)


def test_too_many_entries_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 10)
    entries = {f"f{n}": b"" for n in range(20)}
    with pytest.raises(BundleTooLarge, match="more than 10 entries"):
        unpacked(make_archive(tmp_path / "b", entries))


@pytest.mark.parametrize(
    "data",
    [b"", b"hello", gzip.compress(b"not a tar", mtime=0), gzip.compress(bytes(5000), mtime=0)[:20]],
)
def test_files_that_are_not_gzip_tars_are_refused(data: bytes, tmp_path: Path) -> None:
    archive = tmp_path / "b"
    archive.write_bytes(data)
    with pytest.raises(BadBundle):
        unpacked(archive)


def test_a_large_index_is_refused_before_it_is_read(tmp_path: Path) -> None:
    archive = make_archive(tmp_path / "b", {"index.html": bytes(bundle.MAX_INDEX_BYTES + 1)})
    with pytest.raises(BundleTooLarge, match=r"index\.html has more than"):
        check_bundle(archive)


def test_too_many_folders_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bundle of 10,000 entries made ten million folders."""
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 10)
    entries = {"index.html": b"x", "a/b/c/d/e/f": b"", "a/b/c/d/g": b"", "1/2/3/4/5/6": b""}
    with pytest.raises(BundleTooLarge, match="more than 10 entries"):
        unpacked(make_archive(tmp_path / "b", {**entries, "7/8/9": b""}))
    monkeypatch.setattr(bundle, "MAX_ENTRIES", 12)
    assert unpacked(make_archive(tmp_path / "c", {**entries, "7/8/9": b""}))


def test_entries_that_are_too_deep_are_refused(tmp_path: Path) -> None:
    """Python removes folders by recursion, so a render of such a bundle failed by our fault."""
    deepest = "a/" * (bundle.MAX_DEPTH - 1) + "x"
    assert unpacked(make_archive(tmp_path / "b", {"index.html": b"x", deepest: b""}))
    with pytest.raises(BadBundle, match="is more than 64 folders deep"):
        unpacked(make_archive(tmp_path / "c", {"index.html": b"x", f"a/{deepest}": b""}))


def test_headers_of_entries_are_not_kept_in_memory(tmp_path: Path) -> None:
    header_bytes, entries = 60_000, 200
    with tarfile.open(tmp_path / "b", "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for number in range(entries):
            info = tarfile.TarInfo("index.html" if number == 0 else f"{number}")
            info.pax_headers = {"comment": "x" * header_bytes}
            tar.addfile(info, io.BytesIO())
    tracemalloc.start()
    try:
        unpacked(tmp_path / "b")
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < header_bytes * entries / 4


def extended(kind: bytes, data: bytes) -> bytes:
    """Return an entry with an extended header."""
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def with_headers(path: Path, *headers: bytes) -> Path:
    """Write an archive whose page comes after extended headers."""
    page = tarfile.TarInfo("index.html").tobuf(tarfile.USTAR_FORMAT)
    path.write_bytes(gzip.compress(b"".join([*headers, page, bytes(1024)])))
    return path


PAX_KINDS = [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE]


@pytest.mark.parametrize("kind", PAX_KINDS)
@pytest.mark.parametrize(
    "data",
    [
        b"1" * 65_000,
        b"10 a=b\n",
        b"6 a=b",
        b"0 a=b\n",
        b"-6 a=b\n",
        b"9999 a=b\n",
        b"4 =\n\n",
        b"x",
    ],
)
def test_an_extended_header_that_is_not_valid_is_refused(
    kind: bytes, data: bytes, tmp_path: Path
) -> None:
    """tarfile searched 65,000 digits in quadratic time: 207 bytes stopped the api for 49 s."""
    with pytest.raises(BadBundle, match="extended header that is not valid"):
        unpacked(with_headers(tmp_path / "b", extended(kind, data)))


def test_global_headers_are_not_kept_in_memory(tmp_path: Path) -> None:
    """tarfile kept them all: 14 MB of gzip took 1.1 GB."""
    records = [b"%d=" % (10**7 + number) for number in range(40_000)]
    blocks = [
        extended(tarfile.XGLTYPE, b"".join(b"13 %s\n" % each for each in records[at : at + 4000]))
        for at in range(0, len(records), 4000)
    ]
    archive = with_headers(tmp_path / "b", *blocks)
    tracemalloc.start()
    try:
        unpacked(archive)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < 20 * len(records)


def test_too_many_extended_headers_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MAX_HEADERS_BYTES", 10 * tarfile.BLOCKSIZE)
    empty = extended(tarfile.XGLTYPE, b"")
    unpack(with_headers(tmp_path / "b", *[empty] * 10), tmp_path)
    with pytest.raises(BundleTooLarge, match="the extended headers"):
        unpack(with_headers(tmp_path / "c", *[empty] * 11), tmp_path)


@pytest.mark.parametrize(
    "record",
    [
        b"22 GNU.sparse.major=1\n",
        b"22 GNU.sparse.map=0,1\n",
        b"30 GNU.sparse.name=index.html\n",
        b"11 size=77\n",
    ],
)
def test_an_extended_header_cannot_change_the_size(record: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadBundle, match="has no plain size"):
        unpacked(with_headers(tmp_path / "b", extended(tarfile.XHDTYPE, record)))


@pytest.mark.parametrize("form", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_long_names_are_kept(form: int, tmp_path: Path) -> None:
    name = f"{'folder/' * 30}Übergröße.css"
    with tarfile.open(tmp_path / "b", "w:gz", format=form) as tar:
        tar.addfile(tarfile.TarInfo("index.html"))
        tar.addfile(tarfile.TarInfo(name))
    assert (unpacked(tmp_path / "b") / name).is_file()
