"""Finds out whether this process gives the packets of a source to FFmpeg."""

from pathlib import Path
from typing import Any

import av
import pytest

_MARK_BYTES = 64


def packet_mark(path: Path) -> bytes:
    """Return the end of the longest video packet of a file, which is in every copy of it."""
    with av.open(str(path)) as container:
        packets = [bytes(each) for each in container.demux(video=0) if each.size]
    return max(packets, key=len)[-_MARK_BYTES:]


def refuse_to_read(monkeypatch: pytest.MonkeyPatch, mark: bytes) -> None:
    """Fail when this process opens a file for reading that has these bytes in it."""
    open_file = av.open

    def open_others(file: Any, mode: Any = "r", *args: Any, **options: Any) -> Any:
        if mode == "r" and isinstance(file, str | Path):
            path = Path(str(file).removeprefix("file:"))
            assert mark not in path.read_bytes(), f"{path} was opened here"
        return open_file(file, mode, *args, **options)

    monkeypatch.setattr(av, "open", open_others)
