"""Layers that get quieter while others are heard. A group or sequence is its descendants."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from graphlib import CycleError, TopologicalSorter

from framekiln.composition.layers.audio import LayerAudio, ducked_gain
from framekiln.composition.layers.findings import ConfigFinding, ConfigFindings
from framekiln.composition.layers.schema import FieldContext
from framekiln.composition.layers.sources import every_layer
from framekiln.composition.layers.values import (
    AudioLayer,
    Duck,
    GroupLayer,
    Layer,
    SequenceLayer,
    VideoLayer,
)

Graph = Mapping[str, Iterable[str]]


def check_ducking(layers: Sequence[Layer], place: FieldContext) -> None:
    """Report layers that would duck under themselves, through others or through groups."""
    known = list(every_layer(layers))
    graph = {layer.id: _followed(layer) for layer in known}
    reverse = defaultdict[str, list[str]](list)
    for name, others in graph.items():
        for other in others:
            reverse[other].append(name)
    circular = _blocked(graph) & _blocked(reverse)
    for layer in known:
        if layer.id in circular and _duck_of(layer) is not None:
            message = "the layer would duck under itself: directly, through others or in a group"
            finding = ConfigFinding(_under_path(layer), "circular_start", message)
            place.reading.findings.add_issue(finding)


def ducked_sounds(
    sounds: Sequence[LayerAudio], layers: Sequence[Layer], findings: ConfigFindings
) -> tuple[LayerAudio, ...]:
    """Return all audio of a film of these layers, ducked where a layer requests it."""
    known = {layer.id: layer for layer in every_layer(layers)}
    spans = defaultdict[str, list[tuple[Fraction, Fraction]]](list)
    for sound in sounds:
        spans[sound.layer_id].append((sound.start_s, sound.end_s))
    heard = {
        name: frozenset(each.id for each in every_layer([layer]) if each.id in spans)
        for name, layer in known.items()
    }
    finished: list[LayerAudio] = []
    for sound in sounds:
        layer = known[sound.layer_id]
        duck = _duck_of(layer)
        if duck is None:
            finished.append(sound)
            continue
        for name in dict.fromkeys(duck.under):
            if not heard[name]:
                message = f"layer {name} is not heard, so nothing gets quieter under it"
                findings.add_warning(ConfigFinding(_under_path(layer), "no_effect", message))
        names = frozenset[str]().union(*(heard[name] for name in duck.under))
        under = [span for name in names for span in spans[name]]
        finished.append(replace(sound, gains=(*sound.gains, ducked_gain(under, duck.amount))))
    return tuple(finished)


def _duck_of(layer: Layer) -> Duck | None:
    return layer.sound.duck if isinstance(layer, VideoLayer | AudioLayer) else None


def _under_path(layer: Layer) -> str:
    return f"{layer.path}.audio.duck.under"


def _followed(layer: Layer) -> set[str]:
    """Return the layers whose loudness that of a layer depends on."""
    if isinstance(layer, GroupLayer | SequenceLayer):
        return {child.id for child in layer.layers}
    duck = _duck_of(layer)
    return set(duck.under) if duck else set()


def _blocked(graph: Graph) -> set[str]:
    """Return the nodes that are in a cycle, or lead to one."""
    sorter, blocked = TopologicalSorter(graph), set(graph)
    # After this error, the sorter still returns the nodes before the cycle.
    with suppress(CycleError):
        sorter.prepare()
    while ready := sorter.get_ready():
        blocked.difference_update(ready)
        sorter.done(*ready)
    return blocked
