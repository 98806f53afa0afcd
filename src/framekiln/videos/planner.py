"""Plans a video without a render: times, boxes, sources, warnings.

Uses the same timeline and boxes as films, so a plan cannot differ from its film;
only the size of text is an estimate, since text is measured when it is drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from framekiln.composition.layers import (
    ResolvedLayer,
    ResolvedTimeline,
    UnusableSource,
    resolve,
    state_at,
)
from framekiln.composition.layers.boxes import map_point
from framekiln.composition.layers.numbers import as_json_number
from framekiln.composition.layers.values import SubtitlesLayer, TextLayer, VisualLayer
from framekiln.kit.fair_threads import FairThreads
from framekiln.kit.ids import OrganizationId
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.videos.accepted_config import AcceptedConfig
from framekiln.videos.sources import ProbedSources, SourceFinder

Json = dict[str, Any]


@dataclass(frozen=True)
class Planner:
    """Plans videos."""

    sources: SourceFinder
    threads: FairThreads

    async def plan(self, organization_id: OrganizationId, accepted: AcceptedConfig) -> Json:
        """Return the plan; raises `InvalidConfig` for a config that cannot be rendered."""
        found = await self.sources.probe_all(organization_id, accepted.config)
        return await self.threads.run(organization_id, lambda: _described(accepted, found))


def _described(accepted: AcceptedConfig, found: ProbedSources) -> Json:
    film = resolve(accepted.config, found.media)
    return {
        "digest": accepted.new.digest,
        "dimensions": {
            "width": film.dimensions.width_px,
            "height": film.dimensions.height_px,
        },
        "duration": seconds(film.duration_s),
        "fps": as_json_number(film.timeline.fps),
        "frame_count": film.timeline.frame_count,
        "layers": [_layer(layer) for layer in film.layers],
        "dissolves": [
            {
                "from": each.from_id,
                "to": each.to_id,
                "start": seconds(each.start_s),
                "end": seconds(each.end_s),
            }
            for each in film.dissolves
        ],
        "sounds": _sounds(film),
        "sources": {address: _source(each) for address, each in found.probed.items()},
        "warnings": [*accepted.new.warnings, *(each.as_json() for each in film.warnings)],
        "parsed_config": dict(accepted.new.config),
    }


def _layer(layer: ResolvedLayer) -> Json:
    value = layer.layer
    described: Json = {
        "id": layer.id,
        "type": type(value).__name__.removesuffix("Layer").lower(),
        "path": value.path,
        "start": seconds(layer.start_s),
        "end": seconds(layer.end_s),
        "first_frame": layer.first_frame,
        "end_frame": layer.end_frame,
        "file": layer.source,
        "is_placeholder": layer.is_placeholder,
        "box": _box(layer),
    }
    if layer.children:
        described["layers"] = [_layer(child) for child in layer.children]
    return described


def _box(layer: ResolvedLayer) -> Json | None:
    """Return the box of a layer when it is first visible, and its transformed corners."""
    value = layer.layer
    if not isinstance(value, VisualLayer) or layer.first_frame >= layer.end_frame:
        return None
    state = state_at(layer, Fraction(layer.first_frame) / layer.fps)
    matrix = state.matrix
    around = ((0.0, 0.0), (state.width, 0.0), (state.width, state.height), (0.0, state.height))
    return {
        "x": pixels(state.x),
        "y": pixels(state.y),
        "width": pixels(state.width),
        "height": pixels(state.height),
        "scale": round(state.scale, 6),
        "angle": round(state.angle, 6),
        "corners": [[pixels(at) for at in map_point(matrix, x, y)] for x, y in around],
        "is_estimated": isinstance(value, TextLayer | SubtitlesLayer) and layer.natural is None,
    }


def _sounds(film: ResolvedTimeline) -> list[Json]:
    return [
        {
            "layer": sound.layer_id,
            "path": sound.path,
            "file": sound.source,
            "start": seconds(sound.start_s),
            "end": seconds(sound.end_s),
        }
        for sound in film.sounds
    ]


def _source(found: ProbedSource | UnusableSource) -> Mapping[str, Any]:
    if isinstance(found, UnusableSource):
        return {"error": {"code": found.code, "message": found.message}}
    return {
        "codec": found.codec or found.sound_codec,
        "width": found.width_px,
        "height": found.height_px,
        "duration": None if found.duration_s is None else seconds(found.duration_s),
        "fps": None if found.fps is None else round(float(found.fps), 3),
        "has_sound": found.has_sound,
        "size": found.size_bytes,
    }


def seconds(time_s: Fraction) -> float:
    """Return a time for the response, rounded to microseconds."""
    return round(float(time_s), 6)


def pixels(number: float) -> float | None:
    """Return a length for the response, rounded to 1/1000 pixel; None if it is infinite."""
    if not isfinite(number):
        return None
    # Adding zero removes the sign of a negative zero.
    return round(number, 3) + 0.0
