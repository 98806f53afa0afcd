"""The input of `framekiln render`: a page with its folder, a folder or a bundle."""

import shutil
import stat
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from framekiln.engine.site import PageFolder, Site
from framekiln.kit.errors import InvalidInput, reason_of
from framekiln.renders.bundle import (
    GZIP_MAGIC,
    MAX_UNPACKED_BYTES,
    EntryPlaces,
    read_index,
    shown,
    unpack,
)
from framekiln.renders.errors import BadBundle, BundleTooLarge

LAYER_CONFIG_ENDING: Final = ".json"
_ZIP_MAGIC: Final = b"PK\x03\x04"


@dataclass(frozen=True)
class Composition:
    """A page, and the files of its folder, if it has one."""

    html: str
    site: Site | None


def read_composition(named: Path, *, scratch: Path) -> Composition:
    """Return the composition; a bundle is unpacked in `scratch`."""
    page = named / "index.html" if named.is_dir() else named
    if named.is_dir() and not page.is_file():
        raise InvalidInput(f"{named} has no index.html: name the page, or a folder that has one")
    try:
        with page.open("rb") as file:
            magic = file.read(len(_ZIP_MAGIC))
            if magic == _ZIP_MAGIC or magic.startswith(GZIP_MAGIC):
                return _unpacked(page, scratch / "bundle", is_zip=magic == _ZIP_MAGIC)
            html = _decoded(page, magic + file.read())
    except OSError as error:
        raise InvalidInput(f"cannot read {page}: {reason_of(error)}") from error
    return Composition(html, PageFolder(page.absolute().parent, html))


def _decoded(page: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{page} is not UTF-8 text ({error.reason} at byte {error.start}): name a page, a"
            " folder with an index.html, a bundle or a layer config"
        ) from error


def _unpacked(archive: Path, folder: Path, *, is_zip: bool) -> Composition:
    folder.mkdir()
    if is_zip:
        _unpack_zip(archive, folder)
    else:
        unpack(archive, folder)
    return Composition(read_index(folder), Site(folder))


def _unpack_zip(archive: Path, folder: Path) -> None:
    """Unpack a ZIP under the rules that `unpack` has for a gzip tar."""
    try:
        with zipfile.ZipFile(archive) as packed:
            entries = packed.infolist()
            if sum(entry.file_size for entry in entries) > MAX_UNPACKED_BYTES:
                raise BundleTooLarge(f"the bundle unpacks to more than {MAX_UNPACKED_BYTES} bytes")
            places = EntryPlaces(folder)
            for entry in entries:
                _unpack_entry(packed, entry, places.place(entry.filename))
    # RuntimeError means a password, NotImplementedError an unknown compression method.
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise BadBundle(f"the bundle is not a readable ZIP: {error}") from error
    if not (folder / "index.html").is_file():
        raise BadBundle("the bundle has no index.html at its root")


def _unpack_entry(packed: zipfile.ZipFile, entry: zipfile.ZipInfo, target: Path) -> None:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise BadBundle(
            f"the bundle's entry {shown(entry.filename)} is neither a file nor a folder"
        )
    if entry.is_dir():
        target.mkdir(parents=True, exist_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # zipfile itself stops at the size in the entry.
    with packed.open(entry) as content, target.open("xb") as file:
        shutil.copyfileobj(content, file)
