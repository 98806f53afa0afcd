"""Starts relative to another layer: their validation and the order of their resolution."""

from collections.abc import Sequence

from framekiln.composition.layers.findings import ConfigFinding
from framekiln.composition.layers.schema import FieldContext
from framekiln.composition.layers.values import GroupLayer, Layer, SequenceLayer


def check_anchors(layers: Sequence[Layer], place: FieldContext) -> None:
    """Report starts that refer to a layer of another group, and cyclic starts."""
    siblings = {layer.id for layer in layers}
    for layer in layers:
        if layer.start.layer_id is not None and layer.start.layer_id not in siblings:
            _note(layer, place, code="unknown_layer", message="must name a sibling of this layer")
    for layer in cyclic_layers(layers):
        _note(layer, place, code="circular_start", message="waits for itself through other layers")
    for layer in layers:
        if isinstance(layer, GroupLayer):
            check_anchors(layer.layers, place)
        elif isinstance(layer, SequenceLayer):
            _check_sequence(layer, place)


def sorted_by_anchor(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers sorted so that each follows the layer that its start refers to."""
    # The empty id means no other layer; it needs no resolution.
    waiting, settled, ordered = list(layers), {""}, list[Layer]()
    while waiting:
        ready = [each for each in waiting if (each.start.layer_id or "") in settled]
        if not ready:
            return ordered
        ordered += ready
        settled.update(layer.id for layer in ready)
        waiting = [layer for layer in waiting if layer.id not in settled]
    return ordered


def cyclic_layers(layers: Sequence[Layer]) -> list[Layer]:
    """Return the layers whose starts form a cycle."""
    by_id = {layer.id: layer for layer in layers}

    def waits_for_itself(layer: Layer) -> bool:
        seen: set[str] = set()
        at: Layer | None = layer
        while at is not None and at.start.layer_id is not None and at.id not in seen:
            seen.add(at.id)
            at = by_id.get(at.start.layer_id)
        return at is not None and at.id in seen

    return [layer for layer in layers if waits_for_itself(layer)]


def _check_sequence(sequence: SequenceLayer, place: FieldContext) -> None:
    for child in sequence.layers:
        if child.start.anchor is not None or child.start.at_s:
            place.reading.findings.add_warning(
                ConfigFinding(
                    f"{child.path}.timeline.start",
                    "no_effect",
                    "a sequence places its layers itself",
                )
            )
        if isinstance(child, GroupLayer):
            check_anchors(child.layers, place)
        elif isinstance(child, SequenceLayer):
            _check_sequence(child, place)


def _note(layer: Layer, place: FieldContext, *, code: str, message: str) -> None:
    path = f"{layer.path}.timeline.start"
    place.reading.findings.add_issue(ConfigFinding(path, code, message))
