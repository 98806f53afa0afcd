"""Render data: a JSON object that a page reads as `EF_RENDER_DATA`. Pure."""

import json
from collections.abc import Mapping
from typing import Any, Final

from framekiln.kit.errors import InvalidInput, TooLarge

MAX_DATA_BYTES: Final = 1 << 20
MAX_DATA_DEPTH: Final = 64


def render_data_json(data: Mapping[str, Any]) -> str:
    """Return the object as JSON, in the order of its names; raise if it cannot be used."""
    _check_depth(data)
    try:
        text = json.dumps(data, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        byte_size = len(text.encode())
    except ValueError as error:
        raise InvalidInput(f"data is not JSON: {error}", field="data") from error
    if byte_size > MAX_DATA_BYTES:
        raise TooLarge(
            f"data is larger than {MAX_DATA_BYTES} bytes",
            field="data",
            limit_bytes=MAX_DATA_BYTES,
        )
    return text


def _check_depth(data: Mapping[str, Any]) -> None:
    level: list[Any] = [data]
    for _ in range(MAX_DATA_DEPTH):
        below = [each for each in level if isinstance(each, Mapping | list)]
        if not below:
            return
        level = [
            inner
            for each in below
            for inner in (each.values() if isinstance(each, Mapping) else each)
        ]
    raise InvalidInput(f"data is nested deeper than {MAX_DATA_DEPTH} levels", field="data")
