"""Bundles: a gzip tar with `index.html` at its root, unpacked without trusting it.

Only regular files and folders are unpacked, all below the given folder. Their number and size are
limited while reading, so that a small archive cannot fill the disk.
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


class _Entry(tarfile.TarInfo):
    """An entry that is checked before tarfile reads the rest of its header."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type in _HEADER_TYPES and self.size > _MAX_HEADER_BYTES:
            raise BundleTooLarge(f"the bundle has an entry whose header is {self.size} bytes long")
        if self.size < 0 or self.type == tarfile.GNUTYPE_SPARSE:
            raise BadBundle(f"the bundle's entry {_shown(self)} has no plain size")
        # The documented method to override; only the type stubs lack it.
        entry: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return entry


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a bundle into an empty folder; raise `BadBundle` if it is not valid."""
    try:
        with tarfile.open(archive, "r:gz", tarinfo=_Entry) as tar:
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
    left = MAX_UNPACKED_BYTES
    count = 0
    while (entry := tar.next()) is not None:
        # tarfile would keep every entry with its headers, up to 64 KiB each.
        tar.members = []  # type: ignore[attr-defined]
        count += 1
        if count > MAX_ENTRIES:
            raise BundleTooLarge(f"the bundle has more than {MAX_ENTRIES} entries")
        left -= max(0, entry.size)
        if left < 0:
            raise BundleTooLarge(f"the bundle unpacks to more than {MAX_UNPACKED_BYTES} bytes")
        try:
            _unpack_one(tar, entry, folder)
        except OSError as error:
            if error.errno not in _IMPOSSIBLE_PLACE:
                raise
            reason = _IMPOSSIBLE_PLACE[error.errno]
            raise BadBundle(f"the bundle's entry {_shown(entry)} {reason}") from error


def _unpack_one(tar: tarfile.TarFile, entry: tarfile.TarInfo, folder: Path) -> None:
    name = PurePosixPath(entry.name)
    if name.is_absolute() or ".." in name.parts or "\\" in entry.name or "\0" in entry.name:
        raise BadBundle(f"the bundle's entry {_shown(entry)} leads out of the bundle")
    target = folder.joinpath(*name.parts)
    if entry.isdir():
        target.mkdir(parents=True, exist_ok=True)
        return
    if not entry.isreg() or entry.issparse():
        raise BadBundle(f"the bundle's entry {_shown(entry)} is neither a file nor a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    content = tar.extractfile(entry)
    assert content is not None
    with target.open("xb") as file:
        shutil.copyfileobj(content, file)


def _shown(entry: tarfile.TarInfo) -> str:
    return repr(entry.name[:200])
