"""Encoded frames in memory: what is kept, what is dropped, what is reported."""

from framekiln.preview.frame_cache import FrameCache


def test_the_frame_that_was_not_used_for_longest_is_dropped() -> None:
    cache = FrameCache(max_bytes=30)
    for number in range(3):
        cache.put(("v", number, "jpeg"), b"x" * 10)
    assert cache.get(("v", 0, "jpeg")) is not None
    cache.put(("v", 3, "jpeg"), b"x" * 10)
    assert cache.get(("v", 1, "jpeg")) is None
    assert cache.ranges("v") == [(0, 0), (2, 3)]


def test_a_frame_put_twice_counts_once() -> None:
    cache = FrameCache(max_bytes=25)
    for _ in range(5):
        cache.put(("v", 0, "jpeg"), b"x" * 10)
    cache.put(("v", 1, "jpeg"), b"x" * 10)
    assert cache.ranges("v") == [(0, 1)]


def test_formats_of_a_frame_are_kept_apart_and_reported_once() -> None:
    cache = FrameCache()
    cache.put(("v", 4, "jpeg"), b"lossy")
    cache.put(("v", 4, "png"), b"exact")
    assert cache.get(("v", 4, "png")) == b"exact"
    assert cache.ranges("v") == [(4, 4)]


def test_a_new_version_drops_the_frames_of_others() -> None:
    cache = FrameCache(max_bytes=20)
    cache.put(("old", 0, "jpeg"), b"x" * 20)
    cache.keep_only("new")
    assert cache.get(("old", 0, "jpeg")) is None
    cache.put(("new", 0, "jpeg"), b"x" * 20)
    assert cache.ranges("new") == [(0, 0)]
