"""Sessions with confined children: what they answer, and what the parent survives."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from framekiln.kit.confined.errors import ConfinedKilled, SourceKillsDecoder
from framekiln.kit.confined.limits import ResourceLimits, SessionLimits
from framekiln.kit.confined.sandbox import strongest_sandbox
from framekiln.kit.confined.session import ConfinedSession, SessionPool
from framekiln.kit.confined.session_process import SessionStarter
from framekiln.kit.errors import Blame, InvalidInput, RemoteFailed, Unavailable
from framekiln.kit.ranged_path import BLOCK_BYTES, SparseCopy, ranged_path
from tests.support.session_sources import message
from tests.support.timeouts import TIMEOUT_S, increasing_limits

SOURCES = "tests.support.session_sources"
READER, HOSTILE = f"{SOURCES}:Reader", f"{SOURCES}:Hostile"
LIMITS = SessionLimits(request_s=TIMEOUT_S, request_cpu_s=int(TIMEOUT_S), memory_bytes=512 << 20)


@pytest.fixture(scope="module")
def forked() -> Iterator[SessionPool]:
    pool = SessionPool([SOURCES])
    yield pool
    pool.close()


@pytest.fixture(params=["forked", "started"], scope="module")
def pool(request: pytest.FixtureRequest, forked: SessionPool) -> Iterator[SessionPool]:
    if request.param == "forked":
        yield forked
        return
    pool = SessionPool([SOURCES], can_fork=False)
    yield pool
    pool.close()


@pytest.fixture
def session(pool: SessionPool) -> Iterator[ConfinedSession]:
    with pool.open(LIMITS) as session:
        yield session


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "source.txt"
    path.write_text("abcdefgh")
    path.chmod(0o600)
    return path


def test_a_child_reads_a_file_that_it_cannot_open_by_name(
    session: ConfinedSession, file: Path
) -> None:
    source = session.open(READER, file, {})
    assert (source.facts["name"], source.facts["size"]) == ("source.txt", 8)
    assert source.ask({"start": 2, "count": 3}) == {"text": "cde"}
    source.share(slot_bytes=4, slots=2)
    slots = [source.slot(source.ask({"start": n, "count": 4})) for n in (0, 4)]
    assert [bytes(slot) for slot in slots] == [b"abcd", b"efgh"]
    assert all(slot.readonly for slot in slots)


def test_a_child_reaches_nothing_else(session: ConfinedSession, file: Path) -> None:
    before = file.stat()
    found = session.open(HOSTILE, file, {}).ask({"do": "reach"})
    if "landlock" in strongest_sandbox().description or "bubblewrap" in (
        strongest_sandbox().description
    ):
        assert not any(found.values()), found
    after = file.stat()
    assert (after.st_mode, after.st_mtime, file.read_text()) == (
        before.st_mode,
        before.st_mtime,
        "abcdefgh",
    )


def test_errors_of_the_source_leave_the_child_alive(session: ConfinedSession, file: Path) -> None:
    reader = session.open(READER, file, {})
    hostile = session.open(HOSTILE, file, {})
    with pytest.raises(InvalidInput, match="the file is bad") as error:
        hostile.ask({"do": "complain"})
    assert error.value.details == {"part": "third"}
    assert session.open(READER, file, {}).facts["pid"] == reader.facts["pid"]


@pytest.mark.parametrize(
    ("request_", "what"),
    [
        ({"do": "crash"}, "crashed on this file twice"),
        ({"do": "leave"}, "exit code 3"),
        ({"do": "fill_memory"}, "memory_bytes"),
        ({"do": "fail"}, "ZeroDivisionError"),
        ({"do": "say_endless"}, "invalid answer"),
        ({"do": "say", "args": {"text": "[" * 100_000}}, "invalid answer"),
        ({"do": "say", "args": {"text": '{"result": NaN}'}}, "invalid answer"),
        (message({"result": {"a": [{}] * 60_000}}), "contains more than 50000 values"),
        ({"do": "say_twice"}, "more than one message"),
        (message([]), "invalid answer"),
        (message({}), "invalid answer"),
        (message({"result": 3}), "invalid answer"),
        (message({"error": []}), "invalid answer"),
        (message({"fetch": [1, 0, 1]}), "invalid answer"),
        (message({"fetch": "all"}), "invalid answer"),
    ],
)
def test_a_broken_child_fails_only_its_source(
    forked: SessionPool, file: Path, request_: dict[str, Any], what: str
) -> None:
    with forked.open(LIMITS) as session:
        reader = session.open(READER, file, {})
        hostile = session.open(HOSTILE, file, {}, name="https://example.com/bad.mp4")
        with pytest.raises(ConfinedKilled, match=what) as error:
            hostile.ask(request_)
        assert error.value.message.startswith("https://example.com/bad.mp4: the decoder")
        is_final = request_["do"] in ("crash", "leave", "fill_memory")
        assert (error.value.code, error.value.retryable) == ("decoder_killed", not is_final)
        assert reader.ask({"start": 1, "count": 2}) == {"text": "bc"}


def test_a_crash_while_opening_is_an_error_of_the_source(
    session: ConfinedSession, file: Path
) -> None:
    with pytest.raises(ConfinedKilled, match=r"source\.txt: the decoder crashed"):
        session.open(HOSTILE, file, {"do": "crash"})
    assert session.open(READER, file, {}).ask({"count": 1}) == {"text": "a"}


def test_the_number_of_restarted_decoders_is_limited(forked: SessionPool, file: Path) -> None:
    with forked.open(LIMITS) as session:
        for _ in range(3):
            with pytest.raises(SourceKillsDecoder, match="crashed on this file twice"):
                session.open(HOSTILE, file, {"do": "crash"})
        with pytest.raises(ConfinedKilled, match="decoders crashed 6 times"):
            session.open(READER, file, {})


def test_a_child_that_hangs_is_killed(forked: SessionPool, file: Path) -> None:
    for attempt in increasing_limits(ConfinedKilled):
        with attempt as limit_s, forked.open(replace(LIMITS, request_s=limit_s)) as session:
            hostile = session.open(HOSTILE, file, {})
            with pytest.raises(ConfinedKilled, match="for one request"):
                hostile.ask({"do": "hang"})


def test_a_child_that_uses_too_much_cpu_is_killed(forked: SessionPool, file: Path) -> None:
    with forked.open(replace(LIMITS, request_cpu_s=1)) as session:
        hostile = session.open(HOSTILE, file, {})
        with pytest.raises(SourceKillsDecoder, match="processor time for one request"):
            hostile.ask({"do": "spin"})
        assert session._starts == 1


@pytest.mark.parametrize("slot", [None, -1, 2, 1 << 40, "0", True, 0.0])
def test_a_slot_that_does_not_exist_is_refused(
    forked: SessionPool, file: Path, slot: object
) -> None:
    with forked.open(LIMITS) as session:
        source = session.open(HOSTILE, file, {})
        source.share(slot_bytes=16, slots=2)
        answer = source.ask({"do": "echo", "args": {"answer": {"slot": slot}}})
        with pytest.raises(ConfinedKilled, match="no such slot"):
            source.slot(answer)


def test_a_child_cannot_shrink_the_memory(session: ConfinedSession, file: Path) -> None:
    source = session.open(READER, file, {})
    source.share(slot_bytes=1 << 20, slots=2)
    slot = source.slot(source.ask({"count": 1}))
    session.open(HOSTILE, file, {}).ask({"do": "shrink"})
    assert slot[-1] == 0


def test_sources_beyond_the_limit_are_opened_again(forked: SessionPool, file: Path) -> None:
    with forked.open(replace(LIMITS, open_sources=2)) as session:
        sources = [session.open(READER, file, {}) for _ in range(4)]
        for source in sources:
            source.share(slot_bytes=1, slots=2)
        for _ in range(2):
            letters = [
                bytes(source.slot(source.ask({"start": n}))) for n, source in enumerate(sources)
            ]
            assert letters == [b"a", b"b", b"c", b"d"]
        assert len({source.facts["pid"] for source in sources}) == 1


class Origin:
    """A remote file, and the parts of it that were fetched."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.parts: list[int] = []
        self.failure: Exception | None = None
        self.on_get: Callable[[], None] = lambda: None
        self._content = content
        self.path = ranged_path(path, SparseCopy(path, len(content), self._get))

    def _get(self, start: int, end: int) -> bytes:
        if self.failure is not None:
            raise self.failure
        self.on_get()
        self.parts.append(start // BLOCK_BYTES)
        return self._content[start:end]


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path / "remote", b"".join(b"%08d" % n for n in range(BLOCK_BYTES)))


def test_a_child_fetches_only_what_it_reads(session: ConfinedSession, origin: Origin) -> None:
    source = session.open(READER, origin.path, {})
    assert source.facts["size"] == 8 * BLOCK_BYTES
    assert origin.parts == []
    for _ in range(2):
        assert source.ask({"start": 8 * 200_000, "count": 8}) == {"text": "00200000"}
        assert origin.parts == [8 * 200_000 // BLOCK_BYTES]
    other = session.open(READER, origin.path, {})
    assert other.ask({"start": 8 * 200_001, "count": 8}) == {"text": "00200001"}
    assert len(origin.parts) == 1


def test_an_error_of_the_remote_server_is_passed_on(
    session: ConfinedSession, origin: Origin
) -> None:
    source = session.open(READER, origin.path, {})
    origin.failure = RemoteFailed("the server is gone")
    with pytest.raises(RemoteFailed, match="the server is gone"):
        source.ask({"start": 0, "count": 8})
    origin.failure = None
    assert source.ask({"start": 0, "count": 8}) == {"text": "00000000"}


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ETIMEDOUT])
def test_a_disk_that_fails_while_a_part_is_stored_is_not_the_fault_of_the_file(
    session: ConfinedSession, origin: Origin, number: int
) -> None:
    source = session.open(READER, origin.path, {})
    origin.failure = OSError(number, os.strerror(number))
    with pytest.raises(Unavailable, match=f"could not be stored: {os.strerror(number)}") as error:
        source.ask({"start": 0, "count": 8})
    assert (error.value.blame, error.value.retryable) == (Blame.US, True)
    pid = source.facts["pid"]
    origin.failure = None
    assert source.ask({"start": 0, "count": 8}) == {"text": "00000000"}
    assert session.open(READER, origin.path, {}).facts["pid"] == pid


@pytest.mark.parametrize("asked", [[1, -1, 1], [1, 8, 1], [1, 0, 1 << 30], [2, 0, 1]])
def test_a_child_cannot_make_the_parent_fetch_anything_else(
    forked: SessionPool, origin: Origin, asked: list[int]
) -> None:
    with forked.open(LIMITS) as session:
        source = session.open(HOSTILE, origin.path, {})
        with pytest.raises(ConfinedKilled, match="it asked for a part"):
            source.ask(message({"fetch": asked}))
    assert origin.parts == []


def test_a_closed_session_leaves_no_process(pool: SessionPool, file: Path) -> None:
    with pool.open(LIMITS) as session:
        session.open(READER, file, {})
        process = session._process
    assert process is not None
    assert process.wait() is not None


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGTERM])
def test_a_child_that_was_killed_between_requests_is_replaced(
    session: ConfinedSession, file: Path, sent: signal.Signals
) -> None:
    source, other = session.open(READER, file, {}), session.open(READER, file, {})
    source.share(slot_bytes=2, slots=2)
    slot = source.slot(source.ask({"count": 2}))
    before = session._process
    assert before is not None
    before.send_signal(sent)
    assert before.wait() is not None
    assert bytes(source.slot(source.ask({"start": 2, "count": 2}))) == b"cd"
    assert other.ask({"start": 3}) == {"text": "d"}
    assert bytes(slot) == b"ab"
    assert session._starts == 2


class TestKilledChild:
    """The child is killed while it waits for a part of a remote file."""

    def test_the_request_is_repeated_once(self, session: ConfinedSession, origin: Origin) -> None:
        source = session.open(READER, origin.path, {})
        origin.on_get = once(lambda: kill(session))
        assert source.ask({"start": 8 * 200_000, "count": 8}) == {"text": "00200000"}
        assert session._starts == 2

    def test_so_is_the_opening(self, session: ConfinedSession, origin: Origin) -> None:
        origin.on_get = once(lambda: kill(session))
        assert session.open(READER, origin.path, {"reads": 1}).facts["size"] == 8 * BLOCK_BYTES
        assert session._starts == 2

    def test_each_request_counts_for_itself(self, session: ConfinedSession, origin: Origin) -> None:
        source = session.open(READER, origin.path, {})
        for number in (0, 100_000, 200_000):
            origin.on_get = once(lambda: kill(session))
            answer = source.ask({"start": 8 * number, "count": 8})
            assert answer == {"text": f"{number:08d}"}
        assert session._starts == 4

    def test_the_second_time_is_final(self, session: ConfinedSession, origin: Origin) -> None:
        source = session.open(READER, origin.path, {})
        origin.on_get = lambda: kill(session)
        with pytest.raises(SourceKillsDecoder, match=r"remote: .* twice \(SIGKILL\)"):
            # It begins in one part of the file and ends in another.
            source.ask({"start": BLOCK_BYTES - 4, "count": 8})
        assert session._starts == 2


def kill(session: ConfinedSession) -> None:
    assert session._process is not None
    assert session._process.kill() is not None


def once(call: Callable[[], None]) -> Callable[[], None]:
    calls = [call]
    return lambda: calls.pop()() if calls else None


def test_a_zygote_that_was_killed_is_replaced(file: Path) -> None:
    pool = SessionPool([SOURCES])
    with pool.open(LIMITS) as session:
        source = session.open(READER, file, {})
        before = session._process
        pool.starter.close()
        # A child ends a little later than its zygote.
        while session._process is before:
            assert source.ask({"count": 1}) == {"text": "a"}
        assert session._starts == 2
    pool.close()


def test_a_child_of_a_zygote_that_is_gone_ends_at_once(file: Path) -> None:
    """As if the zygote ended between two steps of a start."""
    starter = SessionStarter([SOURCES])
    starter.warm_up()
    gone = starter._zygote
    assert gone is not None
    long_s = round(TIMEOUT_S)
    order = ResourceLimits(cpu_s=long_s, memory_bytes=1 << 30, file_bytes=0, wall_s=long_s)
    first = gone.fork(order, {"request_cpu_s": long_s})
    gone.close()
    assert first.wait() is not None
    late = gone.fork(order, {"request_cpu_s": long_s})
    assert late.wait() == -signal.SIGKILL
    for process in (first, late):
        process.close()
    starter.close()
