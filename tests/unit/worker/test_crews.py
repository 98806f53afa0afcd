"""Heavy queues have places of their own."""

from framekiln.worker.crews import Crew, crews_of


def test_light_queues_share_and_heavy_ones_do_not() -> None:
    crews = crews_of(["control", "io", "files", "speech"], concurrency=20, slots=2)
    assert crews == [Crew(("control", "io"), 20), Crew(("files",), 2), Crew(("speech",), 2)]


def test_a_single_queue_gets_what_was_asked_for() -> None:
    assert crews_of(["files"], concurrency=7, slots=2) == [Crew(("files",), 7)]


def test_only_heavy_queues() -> None:
    assert crews_of(["files", "playback"], concurrency=7, slots=3) == [
        Crew(("files",), 3),
        Crew(("playback",), 4),
        Crew(("ahead",), 3),
    ]


def test_at_least_two_steps_run_side_by_side_and_light_ones_apart_from_heavy_ones() -> None:
    assert crews_of(["speech", "steps"], concurrency=1, slots=1) == [
        Crew(("speech",), 1),
        Crew(("steps",), 2),
        Crew(("light_steps",), 8),
    ]
    assert Crew(("steps",), 4) in crews_of(["speech", "steps"], concurrency=1, slots=4)


def test_what_is_made_ahead_takes_no_place_from_what_is_asked_for() -> None:
    assert crews_of(["playback"], concurrency=7, slots=2) == [
        Crew(("playback",), 7),
        Crew(("ahead",), 2),
    ]
