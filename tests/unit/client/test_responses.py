"""A downloaded file appears when it is whole, on any file system."""

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from framekiln.client.responses import whole_file


def refuse(*_arguments: object, **_options: object) -> NoReturn:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def test_a_file_system_without_hard_links_and_permissions_can_have_a_download(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("link", "chmod"):
        monkeypatch.setattr(os, name, refuse)
    target = tmp_path / "film.mp4"
    target.write_bytes(b"an older one")
    with whole_file(target) as file:
        file.write(b"film")
        assert target.read_bytes() == b"an older one"
    assert target.read_bytes() == b"film"
    assert list(tmp_path.iterdir()) == [target]


def test_others_can_read_a_download(tmp_path: Path) -> None:
    with whole_file(tmp_path / "film.mp4") as file:
        file.write(b"film")
    assert (tmp_path / "film.mp4").stat().st_mode & 0o777 == 0o644


def test_a_download_that_fails_leaves_the_older_file(tmp_path: Path) -> None:
    target = tmp_path / "film.mp4"
    target.write_bytes(b"an older one")

    def fail() -> None:
        with whole_file(target) as file:
            file.write(b"fi")
            raise ConnectionError

    with pytest.raises(ConnectionError):
        fail()
    assert target.read_bytes() == b"an older one"
    assert list(tmp_path.iterdir()) == [target]
