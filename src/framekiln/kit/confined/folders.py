"""The work folder of a confined child: how it is handed over and taken back.

A child may leave links to other files in it, or pipes that block the reader. So everything except
files and folders is removed.
"""

import os
import shutil
import stat
import subprocess
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from framekiln.kit.confined.errors import ConfinedFailed
from framekiln.kit.confined.sandbox import UNPRIVILEGED_ID, VisibleFiles

_MAX_DEPTH: Final = 16
_UNSHARING: Final = threading.Lock()


def check_own(folder: Path) -> None:
    """Raise if a file in a child's folder has another hard link: the child could change it."""
    for entry, _ in _everything(folder):
        if entry.is_file(follow_symlinks=False) and entry.stat().st_nlink > 1:
            raise ConfinedFailed(
                f"{entry.name}: the file has another hard link, and a confined child could change"
                " it there; copy it, or give it to the child as readable"
            )


def unshare(paths: Iterable[Path]) -> None:
    """Replace files that have other hard links with copies; of a folder, all its files.

    Landlock alone does not stop a child of the same user from changing their modes and times, or,
    in older kernels, from truncating them. Only one at a time: a child that was just given a copy
    would lose it to the next.
    """
    with _UNSHARING:
        for path in _files(paths):
            if path.stat().st_nlink > 1:
                part = path.with_name(f"{path.name}.part")
                shutil.copy(path, part)
                part.replace(path)


def _files(paths: Iterable[Path]) -> list[Path]:
    return [
        file for path in paths for file in (sorted(path.iterdir()) if path.is_dir() else [path])
    ]


def give_to_child(view: VisibleFiles) -> None:
    """Give the folder and its contents to the child; check that it can read the rest."""
    for path in (*view.readable, *_files(view.readable)):
        if not path.stat().st_mode & stat.S_IROTH:
            raise ConfinedFailed(
                f"{path.name}: a confined child is another user and cannot read it;"
                " make it readable for all, or put it into the child's folder"
            )
    os.chown(view.folder, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    for entry, _ in _everything(view.folder):
        os.chown(entry.path, UNPRIVILEGED_ID, UNPRIVILEGED_ID, follow_symlinks=False)


def reclaim(folder: Path, *, has_owner: bool) -> list[str]:
    """Take ownership of everything; remove all but files and folders, and return their names."""
    strange = []
    if has_owner:
        os.chown(folder, os.geteuid(), os.getegid())
    for entry, depth in _everything(folder):
        is_folder = entry.is_dir(follow_symlinks=False)
        if is_folder and depth == _MAX_DEPTH:
            strange.append(f"{entry.name}/...")
            # Unlike Python, `rm` has no depth limit.
            subprocess.run(["rm", "-rf", "--", entry.path], check=True)
        elif not is_folder and not entry.is_file(follow_symlinks=False):
            strange.append(entry.name)
            Path(entry.path).unlink()
        elif has_owner:
            os.chown(entry.path, os.geteuid(), os.getegid(), follow_symlinks=False)
    return strange


def _everything(folder: Path, depth: int = 0) -> "Iterator[tuple[os.DirEntry[str], int]]":
    """Yield the entries of a folder with their depth; folders before their contents."""
    with os.scandir(folder) as entries:
        found = list(entries)
    for entry in found:
        yield entry, depth
        if entry.is_dir(follow_symlinks=False) and depth < _MAX_DEPTH:
            yield from _everything(Path(entry.path), depth + 1)
