"""Sessions in the budget: who waits, in which order, and that no film waits for itself."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from framekiln.capture.browser import Browser
from framekiln.composition.layers import read_config
from framekiln.engine.film import make_film
from framekiln.engine.film_order import FilmOrder
from framekiln.kit.cancellation import WorkCancelled, in_other_thread
from framekiln.kit.confined.budget import (
    ChildBudget,
    SessionPlace,
    child_budget,
    children_of,
    session_budget,
    sessions_of_one_film,
    set_child_budget,
)
from framekiln.kit.confined.errors import NoDecoderFree, TooManySessions
from framekiln.kit.confined.limits import SessionLimits
from framekiln.kit.confined.session import ConfinedSession, SessionPool
from tests.support.cancelled import outcome_when_cancelled
from tests.support.layer_films import config_of
from tests.support.layer_media import CLIP, layer_media, video
from tests.support.timeouts import FILM_LIMITS, TIMEOUT_S

SOURCES = "tests.support.session_sources"
READER = f"{SOURCES}:Reader"
HOSTILE = f"{SOURCES}:Hostile"
LIMITS = SessionLimits(
    request_s=TIMEOUT_S, memory_bytes=512 << 20, counted_bytes=1 << 30, wait_s=TIMEOUT_S
)
GREEDY = replace(LIMITS, memory_bytes=2 << 30, counted_bytes=512 << 20)


class Sessions:
    """A pool with a budget, and threads with a session each."""

    def __init__(self, file: Path, *, sessions: int = 100, memory_bytes: int = 100 << 30) -> None:
        self.budget = ChildBudget(children=sessions, memory_bytes=memory_bytes)
        self.pool = SessionPool([SOURCES], budget=lambda: self.budget)
        self.admitted: list[str] = []
        self._file = file
        self._ends: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []

    def open(self, limits: SessionLimits = LIMITS) -> ConfinedSession:
        session = self.pool.open(limits)
        assert session.open(READER, self._file, {}).ask({}) == {"text": "a"}
        return session

    def start(self, name: str, owner: str = "") -> None:
        """Open a session in a thread, which keeps it until `end`."""
        end = self._ends[name] = threading.Event()

        def run() -> None:
            with children_of(owner), self.open():
                self.admitted.append(name)
                assert end.wait(TIMEOUT_S)

        self._threads.append(threading.Thread(target=run))
        waiting = self.waiting
        self._threads[-1].start()
        wait_until(lambda: name in self.admitted or self.waiting > waiting)

    @property
    def waiting(self) -> int:
        return sum(map(len, self.budget._queues.values()))

    def end(self, name: str) -> None:
        self._ends[name].set()

    def wait_for(self, *names: str) -> None:
        wait_until(lambda: self.admitted == list(names))

    def close(self) -> None:
        for end in self._ends.values():
            end.set()
        for thread in self._threads:
            thread.join(TIMEOUT_S)
            assert not thread.is_alive()
        self.pool.close()


def wait_until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Sessions]]:
    path = tmp_path / "source.txt"
    path.write_text("abcdefgh")
    made: list[Sessions] = []

    def make(**limits: int) -> Sessions:
        made.append(Sessions(path, **limits))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_only_so_many_sessions_have_a_child(make: Callable[..., Sessions]) -> None:
    sessions = make(sessions=2)
    for name in "abc":
        sessions.start(name)
    assert sorted(sessions.admitted) == ["a", "b"]
    sessions.end("a")
    sessions.wait_for("a", "b", "c")


def test_their_memory_counts_together(make: Callable[..., Sessions]) -> None:
    sessions = make(memory_bytes=5 << 29)
    for name in "abc":
        sessions.start(name)
    assert (sessions.admitted, sessions.waiting) == (["a", "b"], 1)


def test_a_session_that_counts_more_than_the_budget_runs_alone(
    make: Callable[..., Sessions],
) -> None:
    sessions = make(memory_bytes=1 << 20)
    sessions.start("a")
    sessions.start("b")
    assert sessions.admitted == ["a"]


def test_organizations_take_turns(make: Callable[..., Sessions]) -> None:
    sessions = make(sessions=1)
    for name in ("a0", "a1", "a2", "b0"):
        sessions.start(name, owner=name[0])
    order = ["a0", "a1", "b0", "a2"]
    for count, name in enumerate(order, 1):
        sessions.wait_for(*order[:count])
        sessions.end(name)


def test_a_session_without_a_place_fails_after_its_time(make: Callable[..., Sessions]) -> None:
    sessions = make(sessions=1)
    with sessions.open():
        with pytest.raises(NoDecoderFree, match="other films used all decoders") as error:
            sessions.open(replace(LIMITS, wait_s=0.01))
        assert error.value.retryable
        assert sessions.waiting == 0
    sessions.open().close()


async def test_work_that_is_cancelled_does_not_wait_any_more(
    make: Callable[..., Sessions],
) -> None:
    sessions = make(sessions=1)
    with sessions.open():
        assert isinstance(await outcome_when_cancelled(sessions.open), WorkCancelled)
        assert sessions.waiting == 0
    sessions.open().close()


def test_a_session_whose_child_crashed_keeps_its_place(make: Callable[..., Sessions]) -> None:
    sessions = make(sessions=1)
    with sessions.open() as session:
        sessions.start("other")
        source = session.open(READER, sessions._file, {})
        assert session._process is not None
        session._process.send_signal(signal.SIGKILL)
        session._process.wait()
        assert source.ask({"start": 2}) == {"text": "c"}
        assert sessions.admitted == []
    sessions.wait_for("other")


def test_films_with_several_sessions_do_not_wait_for_each_other_forever(
    make: Callable[..., Sessions],
) -> None:
    """Each film has its first session; then all want two more, in this thread and in another."""
    sessions = make(sessions=2)
    started = threading.Barrier(2)
    done: list[int] = []

    def open_and_close() -> None:
        sessions.open().close()

    def film(number: int) -> None:
        with sessions_of_one_film(), sessions.open():
            started.wait(TIMEOUT_S)
            with sessions.open():
                other = threading.Thread(target=in_other_thread(open_and_close), daemon=True)
                other.start()
                other.join(TIMEOUT_S)
                assert not other.is_alive()
                done.append(number)

    films = [threading.Thread(target=film, args=(n,), daemon=True) for n in range(2)]
    for each in films:
        each.start()
    for each in films:
        each.join(TIMEOUT_S)
    assert sorted(done) == [0, 1]
    sessions.start("a")
    sessions.start("b")
    assert (sessions.admitted, sessions.waiting) == (["a", "b"], 0)


def test_further_sessions_of_a_film_count(make: Callable[..., Sessions]) -> None:
    sessions = make(sessions=2)
    with sessions_of_one_film(), sessions.open(), sessions.open(), sessions.open():
        sessions.start("other")
        assert (sessions.admitted, sessions.waiting) == ([], 1)
    sessions.wait_for("other")


def take_memory(session: ConfinedSession, file: Path) -> int:
    """Let the child take and give back 800 MiB; return what it says."""
    source = session.open(HOSTILE, file, {})
    taken: int = source.ask({"do": "take_memory", "args": {"mib": 800}})["found"]
    return taken


def test_a_session_that_takes_more_counts_more(make: Callable[..., Sessions]) -> None:
    sessions = make(memory_bytes=2 << 30)
    with sessions.open(GREEDY) as session:
        assert sessions.budget._used_bytes == 512 << 20
        take_memory(session, sessions._file)
        # It counts at the next request.
        assert session.open(READER, sessions._file, {}).ask({}) == {"text": "a"}
        assert sessions.budget._used_bytes >= 800 << 20
    assert sessions.budget._used_bytes == 0


def test_a_request_that_takes_too_much_is_repeated_when_others_have_ended(
    make: Callable[..., Sessions],
) -> None:
    sessions = make(memory_bytes=1 << 30)
    # By itself, the request does not end.
    args = {"mib": 800, "keeps_s": 100_000}
    answers: list[object] = []

    def go_on() -> None:
        answers.append(greedy.ask({"do": "keep_memory", "args": args})["found"])
        answers.append(before.ask({"start": 2})["text"])

    with sessions.open(GREEDY) as session:
        before = session.open(READER, sessions._file, {})
        greedy = session.open(HOSTILE, sessions._file, {})
        with sessions.open(GREEDY) as other:
            waits = threading.Thread(target=go_on)
            waits.start()
            wait_until(lambda: sessions.waiting == 1)
            # Its child has ended, and the other session goes on meanwhile.
            assert session._process is None
            assert sessions.budget._used_bytes == GREEDY.counted_bytes
            assert other.open(READER, sessions._file, {}).ask({"start": 1}) == {"text": "b"}
            assert answers == []
            args["keeps_s"] = 0
        waits.join(TIMEOUT_S)
        assert answers == [800 << 20, "c"]
        assert session._starts == 1
        assert sessions.budget._used_bytes == 1 << 30


def test_memory_counts_that_a_child_does_not_report(make: Callable[..., Sessions]) -> None:
    sessions = make(memory_bytes=2 << 30)
    with sessions.open(GREEDY) as session:
        source = session.open(HOSTILE, sessions._file, {})
        source.ask({"do": "lie_about_memory", "args": {"mib": 800}})
        assert session.open(READER, sessions._file, {}).ask({}) == {"text": "a"}
        assert sessions.budget._used_bytes >= 800 << 20


def test_further_sessions_of_a_film_that_take_more_do_not_wait(
    make: Callable[..., Sessions],
) -> None:
    sessions = make(memory_bytes=1 << 30)
    with sessions_of_one_film(), sessions.open(GREEDY), sessions.open(GREEDY) as further:
        take_memory(further, sessions._file)
        assert further.open(READER, sessions._file, {}).ask({}) == {"text": "a"}
        assert sessions.budget._used_bytes > 1 << 30


def test_a_session_of_a_child_that_lies_about_its_memory_runs_alone() -> None:
    budget = ChildBudget(children=2, memory_bytes=1 << 30)
    place = SessionPlace(budget, 1 << 20)
    assert place.take(TIMEOUT_S)
    for lie in ("much", None, True, 1.5, -5):
        place.note_memory(lie)
        assert not place.must_wait()
    assert budget._used_bytes == 1 << 20
    place.note_memory(1 << 80)
    assert not place.must_wait()
    assert budget._used_bytes == 1 << 30
    place.leave()
    assert budget._used_bytes == 0


def test_a_film_has_at_most_sixteen_sessions_at_a_time() -> None:
    budget = ChildBudget(children=1, memory_bytes=1 << 30)
    with sessions_of_one_film():
        places = [SessionPlace(budget, 1 << 20) for _ in range(17)]
        assert all(place.take(TIMEOUT_S) for place in places[:16])
        with pytest.raises(TooManySessions, match="more than 16 pages"):
            places[16].take(TIMEOUT_S)
        places[3].leave()
        assert places[16].take(TIMEOUT_S)
        for place in places:
            place.leave()
    assert (budget.running, budget._used_bytes) == (0, 0)


def test_a_film_with_pages_in_layers_needs_one_place(
    browser: Browser, tmp_path: Path, small_budget: ChildBudget
) -> None:
    """The video of the layer is open while the video of the page is."""
    body = f'<ef-video src="{CLIP}" style="width:160px;height:120px"></ef-video>'
    page = {"type": "html", "html": {"page": {"body": body}}}
    config = read_config(config_of(video(), page, duration=0.2)).config
    order = FilmOrder(layers=config, assets=layer_media(tmp_path))
    most = 0

    def look(_done: int, _count: int) -> None:
        nonlocal most
        most = max(most, small_budget.running)

    make_film(order, browser, tmp_path / "film.mp4", limits=FILM_LIMITS, report=look)
    assert most == 2
    assert small_budget.running == 0


@pytest.fixture
def small_budget() -> Iterator[ChildBudget]:
    before, small = session_budget(), ChildBudget(children=1, memory_bytes=1 << 30)
    set_child_budget(child_budget(), small)
    yield small
    set_child_budget(child_budget(), before)
