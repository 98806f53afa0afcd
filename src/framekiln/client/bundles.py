"""Bundles: a page with its files as a gzip tar, for renders on the service."""

import io
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from framekiln.client.errors import LocalFileUnusable
from framekiln.kit.errors import reason_of

INDEX: Final = "index.html"
_ARCHIVES: Final = (".tar.gz", ".tgz", ".zip")
_LEFT_OUT: Final = frozenset({".git", "node_modules", "__pycache__"})


def is_bundle(path: Path) -> bool:
    """Tell whether this is a folder, or an archive of one, and not a page."""
    return path.is_dir() or path.name.lower().endswith(_ARCHIVES)


def bundle_bytes(path: Path) -> bytes:
    """Return what to upload: a folder or .zip as gzip tar, any other file as it is."""
    try:
        if path.is_dir():
            return _packed_folder(path)
        if path.suffix.lower() == ".zip":
            return _repacked(path)
        return path.read_bytes()
    except (OSError, zipfile.BadZipFile) as error:
        raise LocalFileUnusable(f"cannot read {path}: {reason_of(error)}") from error


def _packed_folder(folder: Path) -> bytes:
    if not (folder / INDEX).is_file():
        raise LocalFileUnusable(f"{folder} has no {INDEX}: name the folder that has it")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", dereference=True) as archive:
        for each in sorted(folder.rglob("*")):
            inside = each.relative_to(folder)
            if not each.is_file() or _LEFT_OUT.intersection(inside.parts):
                continue
            # A folder from elsewhere must not carry files of this machine away.
            if not each.resolve().is_relative_to(folder.resolve()):
                raise LocalFileUnusable(f"{each} is a link out of {folder}: copy the file there")
            archive.add(each, arcname=inside.as_posix(), recursive=False)
    return packed.getvalue()


def _repacked(path: Path) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(path) as given, tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for each in given.infolist():
            if each.is_dir():
                continue
            member = tarfile.TarInfo(each.filename)
            member.size = each.file_size
            with given.open(each) as content:
                archive.addfile(member, content)
    return packed.getvalue()
