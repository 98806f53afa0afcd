"""Heavy queues have places of their own."""

from framekiln.jobs.model import WorkerPool
from framekiln.worker.pools import worker_pools


def test_light_queues_share_a_pool_and_heavy_ones_do_not() -> None:
    found = worker_pools(["control", "io", "files", "speech"], concurrency=20, slots=2)
    assert found == [
        WorkerPool(("control", "io"), 20),
        WorkerPool(("files",), 2),
        WorkerPool(("speech",), 2),
        WorkerPool(("destinations",), 33, reserved=8),
    ]


def test_sound_is_mixed_beside_the_light_queues() -> None:
    assert worker_pools(["control", "media"], concurrency=20, slots=1) == [
        WorkerPool(("control", "media"), 20),
        WorkerPool(("sound",), 2, reserved=1),
        WorkerPool(("sources",), 32, reserved=8),
    ]
    assert WorkerPool(("sound",), 4, reserved=1) in worker_pools(["media"], concurrency=1, slots=4)


def test_a_single_queue_gets_the_requested_concurrency() -> None:
    assert worker_pools(["files"], concurrency=7, slots=2) == [WorkerPool(("files",), 7)]


def test_each_heavy_queue_has_its_own_pool() -> None:
    assert worker_pools(["files", "playback"], concurrency=7, slots=3) == [
        WorkerPool(("files",), 3),
        WorkerPool(("playback",), 4, reserved=1),
        WorkerPool(("ahead",), 3),
        WorkerPool(("sources",), 34, reserved=8),
    ]


def test_at_least_two_steps_run_side_by_side_and_light_ones_apart_from_heavy_ones() -> None:
    assert worker_pools(["speech", "steps"], concurrency=1, slots=1) == [
        WorkerPool(("speech",), 1),
        WorkerPool(("steps",), 2),
        WorkerPool(("light_steps",), 8),
    ]
    assert WorkerPool(("steps",), 4) in worker_pools(["speech", "steps"], concurrency=1, slots=4)


def test_prefetch_jobs_and_downloads_have_pools_of_their_own() -> None:
    assert worker_pools(["playback"], concurrency=7, slots=2) == [
        WorkerPool(("playback",), 7, reserved=1),
        WorkerPool(("ahead",), 2),
        WorkerPool(("sources",), 33, reserved=8),
    ]


def test_workers_that_make_films_download_their_sources_in_one_pool() -> None:
    sources = WorkerPool(("sources",), 33, reserved=8)
    assert worker_pools(["render"], concurrency=2, slots=2) == [
        WorkerPool(("render",), 2, reserved=1),
        sources,
    ]
    found = worker_pools(["media", "playback", "render"], concurrency=2, slots=2)
    assert found.count(sources) == 1


def test_an_organization_cannot_take_all_slots_for_requests_to_endpoints() -> None:
    assert worker_pools(["endpoints"], concurrency=7, slots=2) == [
        WorkerPool(("endpoints",), 7, reserved=8)
    ]
    assert WorkerPool(("endpoints",), 65, reserved=8) in worker_pools(
        ["io", "endpoints"], concurrency=7, slots=2
    )
