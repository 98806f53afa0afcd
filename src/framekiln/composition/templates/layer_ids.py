"""The ids of layers that are repeated or left out, and the starts that refer to them."""

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from fractions import Fraction
from typing import Any

from framekiln.composition.layers.starts import read_anchored, write_start
from framekiln.composition.layers.values import Start
from framekiln.composition.templates.rule_subject import number_of


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


def without_references(layers: list[Any], removed: Iterable[Mapping[str, Any]]) -> list[Any]:
    """Return the siblings of layers that were left out, with starts that do not refer to these.

    A layer that was left out counts as empty: it begins and ends at its own start.
    """
    kept = {layer_id_of(each) for each in layers if isinstance(each, Mapping)}
    gone = {layer_id_of(each): each for each in removed if layer_id_of(each) not in kept}
    if not gone:
        return layers
    ids = {each for each in (*kept, *gone) if each is not None}
    return [
        _moved(each, _start_without(each, gone, ids)) if isinstance(each, Mapping) else each
        for each in layers
    ]


def _moved(layer: Mapping[str, Any], start: Start | None) -> Mapping[str, Any]:
    if start is None:
        return layer
    return {**layer, "timeline": {**layer["timeline"], "start": write_start(start)}}


def _start_without(
    layer: Mapping[str, Any], gone: Mapping[str | None, Mapping[str, Any]], ids: Set[str]
) -> Start | None:
    """Return another start for a layer whose start refers to one that is gone."""
    start = _start_of(layer, ids)
    seen: set[str] = set()
    while start is not None and start.layer_id in gone:
        assert start.layer_id is not None
        if start.layer_id in seen:
            return None
        seen.add(start.layer_id)
        own = _start_of(gone[start.layer_id], ids)
        start = own and replace(own, at_s=own.at_s + start.at_s)
    return start if seen else None


def _start_of(layer: Mapping[str, Any], ids: Set[str]) -> Start | None:
    timeline = layer.get("timeline")
    given = timeline.get("start") if isinstance(timeline, Mapping) else None
    if given is None:
        return Start()
    anchored = read_anchored(given, ids) if isinstance(given, str) else None
    number = number_of(given) if anchored is None else None
    return anchored if number is None else Start(Fraction(number))


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
