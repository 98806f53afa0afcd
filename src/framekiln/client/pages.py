"""Lists that come in pages: asked for one by one, as far as somebody reads."""

from collections.abc import Iterator
from typing import Any

from framekiln.client.connection import Connection, Json


def items(connection: Connection, path: str, name: str, **query: Any) -> Iterator[Json]:
    """Yield what is listed under `name`, page after page; queries that are None are left out."""
    asked = {key: value for key, value in query.items() if value is not None}
    while True:
        page = connection.ask_json("GET", path, params=asked)
        yield from page[name]
        if page["next_cursor"] is None:
            return
        asked["cursor"] = page["next_cursor"]
