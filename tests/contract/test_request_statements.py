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


async def test_creating_a_render_takes_one_statement(app: AppHarness, tmp_path: Path) -> None:
    # It checks all quotas, inserts the render with its job, and finds no subscribers.
    org = await app.other_organization()
    await org.create(**RENDER)
    with traced(org, tmp_path / "trace") as statements:
        await org.create(**RENDER)
    assert statements.count("") == 1
    assert "BEGIN" not in statements


async def test_a_render_with_a_subscriber_takes_a_transaction(
    app: AppHarness, tmp_path: Path
) -> None:
    org = await app.other_organization()
    new = {"url": "https://receiver.example/hook", "events": ["render.created"]}
    (await org.client.post("/api/v1/webhooks", json=new)).raise_for_status()
    await org.create(**RENDER)
    with traced(org, tmp_path / "trace") as statements:
        await org.create(**RENDER)
    begun, ended = statements.index("BEGIN"), statements.index("COMMIT")
    # After all quotas, the render with its job, and its subscribers come their deliveries.
    assert statements[begun + 1 : ended].count("") > 3


async def test_reading_a_render_takes_one_statement(app: AppHarness, tmp_path: Path) -> None:
    render_id = await app.create(**RENDER)
    address = f"/api/v1/renders/{render_id}"
    assert (await app.client.get(address)).status_code == 200
    with traced(app, tmp_path / "trace") as statements:
        assert (await app.client.get(address)).status_code == 200
    assert statements.count("") == 1
