"""How many statements a request sends to PostgreSQL: much of what it costs the api."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.app import AppHarness

RENDER = {"html": "<p>x", "width": 64, "height": 36, "duration_ms": 100}


@contextmanager
def traced(app: AppHarness, path: Path) -> Iterator[list[list[str]]]:
    """Fill the list with the transactions of the block, each a list of statements.

    What is sent outside of them depends on the time: to check an idle connection, for example.
    """
    pool = app.services.database._pool
    assert pool is not None
    idle = list(pool._pool)
    transactions: list[list[str]] = []
    with path.open("wb") as file:
        for connection in idle:
            connection.pgconn.trace(file.fileno())
        try:
            yield transactions
        finally:
            for connection in idle:
                connection.pgconn.untrace()
    transactions += _transactions(path.read_text("utf-8", "replace"))


def _transactions(trace: str) -> Iterator[list[str]]:
    """Read a trace of libpq: a statement is one Query, or several messages that end with a Sync."""
    begun: list[str] | None = None
    for line in trace.splitlines():
        _, sender, _, message, *text = [*line.split("\t"), "", "", ""]
        if sender != "F" or message not in ("Query", "Sync"):
            continue
        statement = text[0].strip(' "')
        if statement == "BEGIN":
            begun = []
        if begun is not None:
            begun.append(statement)
        if begun is not None and statement == "COMMIT":
            yield begun
            begun = None


async def test_creating_a_render_takes_three_statements_in_a_transaction(
    app: AppHarness, tmp_path: Path
) -> None:
    # All quotas are checked, the render is inserted with its job, and subscribers are found.
    await app.create(**RENDER)
    with traced(app, tmp_path / "trace") as transactions:
        await app.create(**RENDER)
    longest = max(transactions, key=len)
    assert longest == ["BEGIN", "", "", "", "COMMIT"]
