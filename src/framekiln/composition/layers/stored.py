"""Configs that were accepted before and are read again, by workers: what `write_config` wrote."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from framekiln.composition.layers.reading import (
    ReadConfig,
    ReadingOptions,
    parse_config,
    read_config,
)

_REMOTE: Final = ("http://", "https://")


def read_stored_config(value: object) -> ReadConfig:
    """Return a config of ours; addresses that are no remote ones came with its request."""
    parsed = parse_config(value)
    assert isinstance(parsed, Mapping)
    return read_config(parsed, ReadingOptions(uploads=dict(_uploads(parsed))))


def _uploads(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for layer in value.get("layers", ()):
        address = layer.get("file")
        if isinstance(address, str) and not address.lower().startswith(_REMOTE):
            yield layer["id"], address
        yield from _uploads(layer)
