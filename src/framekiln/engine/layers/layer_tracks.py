"""The tracks of a layer config. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from framekiln.composition.layers import ResolvedLayer, ResolvedTimeline
from framekiln.composition.layers.values import (
    AudioLayer,
    GroupLayer,
    ImageLayer,
    Layer,
    SequenceLayer,
    SubtitlesLayer,
    TextLayer,
    VideoLayer,
)
from framekiln.engine.tracks import MAX_TRACKS, TimelineTrack

_MAX_NAME: Final = 60


def layer_tracks(film: ResolvedTimeline) -> tuple[TimelineTrack, ...]:
    """Return the layers from bottom to top, groups before what is in them."""
    end_ms = float(film.duration_s * 1000)
    return tuple(islice(_tracks(film.layers, depth=0, end_ms=end_ms), MAX_TRACKS))


def _tracks(
    layers: Sequence[ResolvedLayer], *, depth: int, end_ms: float
) -> Iterator[TimelineTrack]:
    for each in layers:
        yield TimelineTrack(
            kind=_kind(each.layer),
            name=_name(each.layer),
            depth=depth,
            start_ms=max(0.0, float(each.start_s * 1000)),
            end_ms=min(end_ms, float(each.end_s * 1000)),
        )
        yield from _tracks(each.children, depth=depth + 1, end_ms=end_ms)


def _name(layer: Layer) -> str:
    own_id = layer.id if layer.has_readable_id else ""
    return layer.name or _content_name(layer) or own_id or layer.full_label


def _content_name(layer: Layer) -> str:
    """Return the text or the name of the source, which says more than an id."""
    match layer:
        case TextLayer():
            return layer.text.text[:_MAX_NAME]
        case VideoLayer() | AudioLayer() | ImageLayer():
            address = urlsplit(layer.file)
            return "" if address.scheme == "data" else PurePosixPath(address.path).name[:_MAX_NAME]
    return ""


def _kind(layer: Layer) -> str:
    match layer:
        case GroupLayer() | SequenceLayer():
            return "group"
        case TextLayer() | SubtitlesLayer():
            return "text"
        case AudioLayer():
            return "sound"
    return "layer"
