"""Each house rule finds what it forbids, says where, and lets the rest pass."""

from collections.abc import Callable
from pathlib import Path

import pytest
from scripts.lint import (
    clock_only_in_kit,
    module_length,
    no_gerunds,
    no_vague_names,
    sql_in_stores,
    usual_terms,
)

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Put a file into a small tree and return the tree's root."""

    def put(name: str, text: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return tmp_path

    return put


@pytest.mark.parametrize(
    ("name", "limit"),
    [("src/a/b.py", 400), ("runtime/src/c.ts", 400), ("tests/unit/test_d.py", 500)],
)
def test_a_module_may_be_as_long_as_its_limit(write: Write, name: str, limit: int) -> None:
    assert list(module_length.problems(write(name, "x\n" * limit))) == []
    (problem,) = module_length.problems(write(name, "x\n" * (limit + 1)))
    assert problem.startswith(f"{name}:{limit + 1}: {limit + 1} lines")


def test_node_modules_are_not_ours(write: Write) -> None:
    assert list(module_length.problems(write("runtime/node_modules/x.ts", "x\n" * 900))) == []


@pytest.mark.parametrize(
    "literal",
    [
        '"SELECT 1"',
        '"select id from renders where id = 1"',
        '"INSERT INTO renders VALUES (1)"',
        '"""\n  update renders set status = 1"""',
        '"DELETE FROM renders"',
        '"with old as (select 1) delete from renders"',
        '"WITH RECURSIVE tree AS (SELECT 1) SELECT 2"',
        'f"SELECT {column} FROM renders"',
        'f"select {column} from renders"',
    ],
)
def test_sql_out_of_place_is_found(write: Write, literal: str) -> None:
    root = write("src/framekiln/renders/service.py", f"\nquery = {literal}\n")
    (problem,) = sql_in_stores.problems(root)
    assert problem.startswith("src/framekiln/renders/service.py:2: SQL belongs")


@pytest.mark.parametrize(
    "name",
    [
        "src/f/renders/store.py",
        "src/f/renders/slice_store.py",
        "src/f/webhooks/stores/delivery.py",
        "src/f/db/migrate.py",
        "src/f/jobs/queue.py",
    ],
)
def test_sql_in_stores_is_allowed(write: Write, name: str) -> None:
    assert list(sql_in_stores.problems(write(name, 'query = "SELECT id FROM renders"\n'))) == []


@pytest.mark.parametrize(
    "name",
    ["src/f/files/restore.py", "src/f/store/service.py", "src/f/stores.py", "src/f/db.py"],
)
def test_modules_with_similar_names_are_not_stores(write: Write, name: str) -> None:
    (problem,) = sql_in_stores.problems(write(name, 'query = "SELECT id FROM renders"\n'))
    assert problem.startswith(f"{name}:1: SQL belongs")


@pytest.mark.parametrize(
    "source",
    [
        'method = "DELETE"',
        'text = "select a file"',
        'text = "with care as always"',
        'text = "update it, then set it aside"',
        '"""Select rows from a table."""',
        'def f():\n    """Delete from the list whatever is old."""',
        'text = f"{count} rows"',
    ],
)
def test_prose_is_not_sql(write: Write, source: str) -> None:
    assert list(sql_in_stores.problems(write("src/f/api/app.py", source + "\n"))) == []


@pytest.mark.parametrize(
    "source",
    [
        "datetime.now(UTC)",
        "datetime.datetime.utcnow()",
        "datetime.today()",
        "date.today()",
        "time.time()",
        "field(default_factory=time.time)",
        "time.time_ns()",
        "from time import time",
    ],
)
def test_reading_the_wall_clock_is_found(write: Write, source: str) -> None:
    (problem,) = clock_only_in_kit.problems(write("src/f/renders/model.py", f"\n\n{source}\n"))
    assert problem.startswith("src/f/renders/model.py:3: ")
    assert "kit/clock.py only" in problem


@pytest.mark.parametrize(
    "source",
    ["time.monotonic()", "clock.now()", "self.clock.now()", "loop.time()", "time.sleep(1)"],
)
def test_other_clocks_are_free_to_use(write: Write, source: str) -> None:
    assert list(clock_only_in_kit.problems(write("src/f/worker/loop.py", source))) == []


def test_kit_clock_may_read_the_wall_clock(write: Write) -> None:
    assert list(clock_only_in_kit.problems(write("src/f/kit/clock.py", "datetime.now(UTC)"))) == []


@pytest.mark.parametrize(
    "name",
    [
        "src/f/utils.py",
        "src/f/_helpers.py",
        "src/f/common/text.py",
        "tests/support/base.py",
        "scripts/manager.py",
        "runtime/src/utils.test.ts",
    ],
)
def test_vague_names_are_found(write: Write, name: str) -> None:
    (problem,) = no_vague_names.problems(write(name, ""))
    assert problem.startswith(f"{name}:1: ")


@pytest.mark.parametrize("name", ["src/f/baseline.py", "src/f/manage.py", "runtime/src/clock.ts"])
def test_other_names_pass(write: Write, name: str) -> None:
    assert list(no_vague_names.problems(write(name, ""))) == []


@pytest.mark.parametrize(
    "name",
    [
        "src/f/loading.py",
        "src/f/_video_coding.py",
        "src/f/signing/keys.py",
        "tests/support/making.py",
    ],
)
def test_gerunds_are_found(write: Write, name: str) -> None:
    (problem,) = no_gerunds.problems(write(name, ""))
    assert problem.startswith(f"{name}:1: ")


@pytest.mark.parametrize(
    "name", ["src/f/tone_mapping.py", "src/f/codec_string.py", "src/f/ingest.py", "tests/making.py"]
)
def test_nouns_pass(write: Write, name: str) -> None:
    assert list(no_gerunds.problems(write(name, ""))) == []


@pytest.mark.parametrize(
    "source",
    ["told = 1", "def open_cage(): ...", "class Crew: ...", "a.ward", "_LONGEST_S = 1", "MOST = 2"],
)
def test_words_with_a_usual_term_are_found(write: Write, source: str) -> None:
    (problem,) = usual_terms.problems(write("src/f/model.py", f"\n{source}\n"))
    assert problem.startswith("src/f/model.py:2: call ")


@pytest.mark.parametrize(
    "source", ["toward = forward", '"""As told."""', "# Warm cages.", "longest = MAX_S"]
)
def test_other_words_and_prose_pass(write: Write, source: str) -> None:
    assert list(usual_terms.problems(write("src/f/model.py", f"{source}\n"))) == []


@pytest.mark.parametrize(
    "lint",
    [clock_only_in_kit, module_length, no_gerunds, no_vague_names, sql_in_stores, usual_terms],
)
def test_the_lints_are_short(lint: object) -> None:
    lines = Path(str(getattr(lint, "__file__", ""))).read_text(encoding="utf-8").splitlines()
    assert len([line for line in lines if line.strip()]) < 40
