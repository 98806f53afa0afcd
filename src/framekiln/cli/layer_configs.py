"""Layer configs and templates as the input of `framekiln render`, with local files beside them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from framekiln.capture.network import PAGE_URL
from framekiln.composition.layers import ParsedConfig, ReadOptions, read_config
from framekiln.composition.layers.config_json import parse_config
from framekiln.composition.templates import fill_template, read_template
from framekiln.kit.errors import InvalidInput, reason_of

_FILE_FIELDS: Final = ("file", "source", "src")


def read_layer_config(
    named: Path, *, data: str | None, extension: str, at_ms: int | None
) -> ParsedConfig:
    """Return the config of a file; a template is filled with `data`, a JSON object.

    Files without a scheme are those of the config's folder, as for a page.
    """
    try:
        value = parse_config(named.read_bytes())
    except OSError as error:
        raise InvalidInput(f"cannot read {named}: {reason_of(error)}") from error
    assert isinstance(value, Mapping)
    is_filled = is_template(value)
    if is_filled:
        value = _filled(value, {} if data is None else json.loads(data))
    elif data is not None:
        raise InvalidInput(
            f"{named} has no inputs, so --data has no effect: a template is an object with config"
            " and inputs"
        )
    wanted: dict[str, Any] = {**_with_local_files(value), "extension": extension}
    if at_ms is not None:
        wanted["time"] = at_ms / 1000
    return read_config(wanted, ReadOptions(is_filled_template=is_filled))


def is_template(value: Mapping[str, Any]) -> bool:
    """Whether the JSON of a file is a template: a config with inputs."""
    return "config" in value and "layers" not in value


def _filled(posted: Mapping[str, Any], data: dict[str, Any]) -> Mapping[str, Any]:
    read = read_template(
        posted["config"], posted.get("inputs", {}), posted.get("default_values", {})
    )
    return fill_template(read.template, data).config


def _with_local_files(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return an object of a config with addresses instead of relative paths."""
    found = dict(value)
    for name in _FILE_FIELDS:
        if isinstance(found.get(name), str):
            found[name] = _address(found[name])
    for name in ("layers", "fonts"):
        items = found.get(name)
        if isinstance(items, list):
            found[name] = [
                _with_local_files(item) if isinstance(item, Mapping) else item for item in items
            ]
    return found


def _address(named: str) -> str:
    try:
        is_remote = bool(urlsplit(named).scheme)
    except ValueError:
        return named  # The reader says what is wrong with it.
    return named if is_remote or not named.strip() else urljoin(PAGE_URL, quote(named.strip()))
