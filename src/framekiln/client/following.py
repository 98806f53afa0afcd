"""Follows progress streams (server-sent events) to their end, however often they break off."""

import json
from collections.abc import Callable, Iterator

import httpx

from framekiln.client.connection import Connection
from framekiln.client.errors import EndedBadly

OnFraction = Callable[[float], None]


def follow(connection: Connection, path: str, on_fraction: OnFraction) -> None:
    """Return when the stream says `complete`; raises `EndedBadly` with what its `error` says."""
    for patience in connection.patiently():
        with patience, connection.streaming(path) as answer:
            for name, data in _events(answer):
                patience.worked()
                if name == "error":
                    raise EndedBadly(data, error=data.partition(":")[0])
                if name == "complete":
                    return
                if name == "progress":
                    on_fraction(float(json.loads(data).get("progress", 0)))


def _events(answer: httpx.Response) -> Iterator[tuple[str, str]]:
    name, data = "", ""
    for line in answer.iter_lines():
        field, _, value = line.partition(":")
        if not line:
            yield name, data
            name, data = "", ""
        elif field == "event":
            name = value.strip()
        elif field == "data":
            data += value.strip()
