"""What the api keeps of frames, and what it believes of children."""

import json

import pytest

from framekiln.files.frame_times import read_times
from framekiln.files.frames import RecentValues
from framekiln.kit.confined.errors import ConfinedFailed


def test_a_replaced_value_is_counted_once() -> None:
    kept = RecentValues[str](max_bytes=10)
    kept.put("a", "1", 3)
    for _ in range(5):
        kept.put("b", "2", 7)
    assert (kept.get("a"), kept.get("b")) == ("1", "2")
    kept.put("c", "3", 1)
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == (None, "2", "3")


@pytest.mark.parametrize(
    "raw",
    [
        b"not JSON",
        b"[1]",
        b'{"tick_s":[1,0],"starts":[0]}',
        b'{"tick_s":[1],"starts":[0]}',
        b'{"tick_s":[1,2],"starts":"0"}',
        b'{"tick_s":[1,2],"starts":[0.5]}',
        b'{"tick_s":[1,2],"starts":[true]}',
        b'{"tick_s":[1,2],"starts":[' + b"[" * 2_000_000 + b"]}",
        b'{"tick_s":[1,2],"starts":[' + b"9" * 5000 + b"]}",
    ],
    ids=lambda raw: raw[:30].decode(),
)
def test_times_of_a_compromised_child_are_refused(raw: bytes) -> None:
    with pytest.raises(ConfinedFailed):
        read_times(raw)


def test_a_million_frames_are_read() -> None:
    times = {"frame_count": 10**6, "tick_s": [1, 30], "end": 1, "starts": [10**9] * 10**6}
    assert len(read_times(json.dumps(times).encode()).starts) == 10**6
