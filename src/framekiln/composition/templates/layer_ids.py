"""The ids of repeated layers: each copy has its own, and so have the layers in it."""

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

from framekiln.composition.layers.starts import read_anchored, write_start


def layer_id_of(layer: Mapping[str, Any]) -> str | None:
    """Return the id of a layer as text, or None if it has none that could be read."""
    given = layer.get("id")
    if isinstance(given, bool) or not isinstance(given, str | int):
        return None
    return str(given)


def with_suffix(layer: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Return a filled copy of a layer with the index after its id and after those in it.

    Layers in it that refer to each other refer to those of the same copy.
    """
    inner = set(_ids_in(layer))
    root = layer_id_of(layer)
    return _suffixed(layer, inner, inner if root is None else inner | {root}, f"-{index}")


def _ids_in(layer: Mapping[str, Any]) -> Iterator[str]:
    for child in _children(layer):
        layer_id = layer_id_of(child)
        if layer_id is not None:
            yield layer_id
        yield from _ids_in(child)


def _children(layer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    layers = layer.get("layers")
    return (
        [each for each in layers if isinstance(each, Mapping)] if isinstance(layers, list) else []
    )


def _suffixed(
    layer: Mapping[str, Any], siblings: Set[str], ids: Set[str], suffix: str
) -> dict[str, Any]:
    changed = dict(layer)
    layer_id = layer_id_of(layer)
    if layer_id is not None:
        changed["id"] = layer_id + suffix
    timeline, audio = layer.get("timeline"), layer.get("audio")
    if isinstance(timeline, Mapping) and isinstance(timeline.get("start"), str):
        start = read_anchored(timeline["start"], siblings - {layer_id})
        if start is not None:
            moved = replace(start, layer_id=f"{start.layer_id}{suffix}")
            changed["timeline"] = {**timeline, "start": write_start(moved)}
    if isinstance(audio, Mapping) and isinstance(audio.get("duck"), Mapping):
        changed["audio"] = {**audio, "duck": _duck(audio["duck"], ids, suffix)}
    if isinstance(layer.get("layers"), list):
        changed["layers"] = [
            _suffixed(each, siblings, ids, suffix) if isinstance(each, Mapping) else each
            for each in layer["layers"]
        ]
    return changed


def _duck(duck: Mapping[str, Any], ids: Set[str], suffix: str) -> Mapping[str, Any]:
    under = duck.get("under")
    if not isinstance(under, list):
        return duck
    names = [f"{name}{suffix}" if str(name) in ids else name for name in under]
    return {**duck, "under": names}
