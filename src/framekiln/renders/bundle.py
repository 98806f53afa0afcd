"""Bundles: a gzip tar with `index.html` at its root, unpacked without trusting it.

Only regular files and folders are unpacked, all below the given folder. Their number and size are
limited while reading, so that a small archive cannot fill the disk. Extended headers are read here:
tarfile keeps all global ones in memory, and older releases take quadratic time for one.
"""

import errno
import gzip
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Final

from framekiln.renders.errors import BadBundle, BundleTooLarge

MAX_BUNDLE_BYTES: Final = 256 << 20
MAX_UNPACKED_BYTES: Final = 1 << 30
MAX_ENTRIES: Final = 10_000
"""Of entries, and of folders: an entry may be below folders that have no entry."""
MAX_DEPTH: Final = 64
MAX_INDEX_BYTES: Final = 16 << 20
"""Of index.html, which is read whole; as much as inline HTML may have."""
GZIP_MAGIC: Final = b"\x1f\x8b"
# Long names are entries of their own, which tarfile reads into memory whole.
_HEADER_TYPES: Final = (
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
)
_MAX_HEADER_BYTES: Final = 64 << 10
MAX_HEADERS_BYTES: Final = 32 << 20
"""Of all extended headers of a bundle: 3 KiB for each entry."""
_MAX_LENGTH_DIGITS: Final = 8
# tarfile raises the last three when a header contradicts itself.
_NOT_READABLE: Final = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,
    IndexError,
    RecursionError,
)
_IMPOSSIBLE_PLACE: Final = {
    errno.EEXIST: "occurs twice, or is below a file",
    errno.EISDIR: "is a file and a folder",
    errno.ENOTDIR: "is below a file",
    errno.ENAMETOOLONG: "has too long a name",
}


class _Archive(tarfile.TarFile):
    """An archive that counts the bytes of its extended headers."""

    header_bytes = 0


class _Entry(tarfile.TarInfo):
    """An entry that is checked before tarfile reads the rest of its header."""

    # Both are the documented methods to override; only the type stubs lack them.

    def _proc_member(self, tar: _Archive) -> tarfile.TarInfo:
        if self.type in _HEADER_TYPES:
            self._count_header(tar)
        if self.size < 0 or self.type == tarfile.GNUTYPE_SPARSE:
            raise BadBundle(f"the bundle's entry {shown(self.name)} has no plain size")
        entry: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return entry

    def _proc_pax(self, tar: _Archive) -> tarfile.TarInfo:
        """Return the next entry, with the path in this header; nothing else in it is used."""
        assert tar.fileobj is not None
        blocks = -(-self.size // tarfile.BLOCKSIZE)
        fields = _extended_fields(tar.fileobj.read(blocks * tarfile.BLOCKSIZE)[: self.size])
        try:
            entry = self.fromtarfile(tar)
        except tarfile.HeaderError as error:
            # Passed on, it would be taken for the end of the archive.
            raise tarfile.ReadError(f"no entry after an extended header: {error}") from None
        if self.type == tarfile.XGLTYPE:
            return entry
        if b"path" in fields:
            entry.name = fields[b"path"].decode("utf-8", "surrogateescape").rstrip("/")
        if fields.get(b"size", b"%d" % entry.size) != b"%d" % entry.size:
            raise BadBundle(f"the bundle's entry {shown(entry.name)} has no plain size")
        return entry

    def _count_header(self, tar: _Archive) -> None:
        if self.size > _MAX_HEADER_BYTES:
            raise BundleTooLarge(f"the bundle has an entry whose header is {self.size} bytes long")
        tar.header_bytes += tarfile.BLOCKSIZE + self.size
        if tar.header_bytes > MAX_HEADERS_BYTES:
            raise BundleTooLarge(
                f"the extended headers of the bundle have more than {MAX_HEADERS_BYTES} bytes"
            )


def _extended_fields(raw: bytes) -> dict[bytes, bytes]:
    """Return path and size in an extended header, of records `length name=value` and a newline."""
    fields: dict[bytes, bytes] = {}
    at = 0
    while at < len(raw) and raw[at]:
        digits, _, _ = raw[at : at + _MAX_LENGTH_DIGITS].partition(b" ")
        end = at + int(digits) if digits.isdigit() else at
        record = raw[at + len(digits) + 1 : end]
        name, equals, value = record[:-1].partition(b"=")
        if end > len(raw) or not equals or not record.endswith(b"\n"):
            raise BadBundle("the bundle has an extended header that is not valid")
        if name.startswith(b"GNU.sparse."):
            raise BadBundle("the bundle has a sparse file, which has no plain size")
        if name in {b"path", b"size"}:
            fields[name] = value
        at = end
    return fields


class EntryPlaces:
    """Where the entries of a bundle go: below its folder, not too deep, and not too many."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._entries = 0
        self._folders: set[PurePosixPath] = set()

    def place(self, entry: str) -> Path:
        """Return the place of an entry, or raise what is wrong with its name."""
        name = PurePosixPath(entry)
        if name.is_absolute() or ".." in name.parts or "\\" in entry or "\0" in entry:
            raise BadBundle(f"the bundle's entry {shown(entry)} leads out of the bundle")
        if not entry or len(name.parts) > MAX_DEPTH:
            reason = f"is more than {MAX_DEPTH} folders deep" if entry else "has no name"
            raise BadBundle(f"the bundle's entry {shown(entry)} {reason}")
        self._entries += 1
        self._folders.update(name.parents)
        if max(self._entries, len(self._folders) - 1) > MAX_ENTRIES:
            raise BundleTooLarge(f"the bundle has more than {MAX_ENTRIES} entries")
        return self._folder.joinpath(*name.parts)


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a bundle into an empty folder; raise `BadBundle` if it is not valid."""
    try:
        with _Archive.open(archive, "r:gz", tarinfo=_Entry) as tar:
            _unpack_all(tar, folder)
    except _NOT_READABLE as error:
        raise BadBundle(f"the bundle is not a readable gzip tar: {error}") from error
    if not (folder / "index.html").is_file():
        raise BadBundle("the bundle has no index.html at its root")


def read_index(folder: Path) -> str:
    """Return the `index.html` of an unpacked bundle."""
    index = folder / "index.html"
    if index.stat().st_size > MAX_INDEX_BYTES:
        raise BundleTooLarge(f"the bundle's index.html has more than {MAX_INDEX_BYTES} bytes")
    try:
        return index.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadBundle(f"the bundle's index.html is not UTF-8: {error}") from error


def check_bundle(archive: Path) -> None:
    """Raise `BadBundle` or `BundleTooLarge` if a bundle cannot be used."""
    with tempfile.TemporaryDirectory(prefix="framekiln-bundle-") as folder:
        unpack(archive, Path(folder))
        read_index(Path(folder))


def _unpack_all(tar: tarfile.TarFile, folder: Path) -> None:
    left, places = MAX_UNPACKED_BYTES, EntryPlaces(folder)
    while (entry := tar.next()) is not None:
        # tarfile would keep every entry with its headers, up to 64 KiB each.
        tar.members = []  # type: ignore[attr-defined]
        left -= max(0, entry.size)
        if left < 0:
            raise BundleTooLarge(f"the bundle unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        try:
            _unpack_one(tar, entry, places.place(entry.name))
        except OSError as error:
            if error.errno not in _IMPOSSIBLE_PLACE:
                raise
            reason = _IMPOSSIBLE_PLACE[error.errno]
            raise BadBundle(f"the bundle's entry {shown(entry.name)} {reason}") from error


def _unpack_one(tar: tarfile.TarFile, entry: tarfile.TarInfo, target: Path) -> None:
    if entry.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    if not entry.isreg() or entry.issparse():
        raise BadBundle(f"the bundle's entry {shown(entry.name)} is neither a file nor a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(entry)
    assert content is not None
    with target.open("xb") as file:
        shutil.copyfileobj(content, file)


def shown(entry: str) -> str:
    """Return the name of an entry as messages have it."""
    return repr(entry[:200])
