"""How many statements a request sends to PostgreSQL: much of what it costs the api."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.app import AppHarness

RENDER = {"html": "<p>x", "width": 64, "height": 36, "duration_ms": 100}


@contextmanager
def traced(app: AppHarness, path: Path) -> Iterator[list[str]]:
    """Fill the list with the statements of the block: plain ones, or "" for those with parameters.

    A plain one may also be the check of an idle connection, which depends on the time.
    """
    pool = app.services.database._pool
    assert pool is not None
    idle = list(pool._pool)
    statements: list[str] = []
    with path.open("wb") as file:
        for connection in idle:
            connection.pgconn.trace(file.fileno())
        try:
            yield statements
        finally:
            for connection in idle:
                connection.pgconn.untrace()
    statements += _statements(path.read_text("utf-8", "replace"))


def _statements(trace: str) -> Iterator[str]:
    """Read a trace of libpq: a statement is one Query, or several messages that end with a Sync."""
    for line in trace.splitlines():
        _, sender, _, message, *text = [*line.split("\t"), "", "", ""]
        if sender == "F" and message in ("Query", "Sync"):
            yield text[0].strip(' "')


async def test_creating_a_render_takes_three_statements_in_a_transaction(
    app: AppHarness, tmp_path: Path
) -> None:
    # All quotas are checked, the render is inserted with its job, and subscribers are found.
    await app.create(**RENDER)
    with traced(app, tmp_path / "trace") as statements:
        await app.create(**RENDER)
    begun = statements.index("BEGIN")
    assert statements[begun : statements.index("COMMIT") + 1] == ["BEGIN", "", "", "", "COMMIT"]


async def test_reading_a_render_takes_one_statement(app: AppHarness, tmp_path: Path) -> None:
    render_id = await app.create(**RENDER)
    address = f"/api/v1/renders/{render_id}"
    assert (await app.client.get(address)).status_code == 200
    with traced(app, tmp_path / "trace") as statements:
        assert (await app.client.get(address)).status_code == 200
    assert statements.count("") == 1
