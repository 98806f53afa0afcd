"""Reads annotations from outside, with every issue: also what their parts cannot say alone."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from framekiln.pipelines.definition.windows import Window
from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    METADATA,
    Annotation,
    BoxKeyframe,
    split_fields,
)
from framekiln.pipelines.schema.issues import IssueCode, Location
from framekiln.pipelines.schema.records import read_record

# x + w of two rounded numbers may miss 1 by a hair; whoever draws the box cuts it at the edge.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class AnnotationReader:
    """Reads annotations that must lie in a window, or be of certain tracks, if these are given."""

    window: Window | None = None
    track_ids: Collection[int] | None = None

    def read(self, value: Any, place: Location) -> tuple[Annotation, ...]:
        """Return the annotations that can be read; report all that is wrong."""
        if not isinstance(value, list):
            place.report(IssueCode.TYPE)
            return ()
        if len(value) > MAX_ANNOTATIONS:
            place.report(IssueCode.TOO_MANY)
            return ()
        read = [self._read_one(raw, place / index) for index, raw in enumerate(value)]
        return tuple(each for each in read if each is not None)

    def _read_one(self, value: Any, place: Location) -> Annotation | None:
        if not isinstance(value, dict):
            place.report(IssueCode.TYPE)
            return None
        own, more = split_fields(value)
        annotation = read_record(Annotation, own, place)
        kept = None if more is None else METADATA.read(more, place)
        if annotation is None:
            return None
        if annotation.end_ms < annotation.start_ms:
            (place / "end_ms").report(IssueCode.OUT_OF_RANGE)
        if self.window is not None:
            _check_inside(annotation, self.window, place)
        if self.track_ids is not None and annotation.track_id not in (None, *self.track_ids):
            (place / "track_id").report(IssueCode.UNKNOWN_TRACK)
        _check_keyframes(annotation, place / "keyframes")
        return replace(annotation, keyframes=annotation.keyframes or None, more=kept)


def _check_inside(annotation: Annotation, window: Window, place: Location) -> None:
    if not window.contains(annotation.start_ms, window.end_ms):
        (place / "start_ms").report(IssueCode.OUT_OF_RANGE)
    if not window.contains(window.start_ms, annotation.end_ms):
        (place / "end_ms").report(IssueCode.OUT_OF_RANGE)


def _check_keyframes(annotation: Annotation, place: Location) -> None:
    keyframes = annotation.keyframes or ()
    for index, keyframe in enumerate(keyframes):
        if not annotation.start_ms <= keyframe.t_ms <= annotation.end_ms:
            (place / index / "t_ms").report(IssueCode.OUT_OF_RANGE)
        _check_box(keyframe, place / index)
    for index, (before, after) in enumerate(pairwise(keyframes), start=1):
        if after.t_ms <= before.t_ms:
            (place / index / "t_ms").report(IssueCode.NOT_INCREASING)


def _check_box(keyframe: BoxKeyframe, place: Location) -> None:
    if keyframe.x + keyframe.w > 1 + _ROUNDING:
        (place / "w").report(IssueCode.OUT_OF_RANGE)
    if keyframe.y + keyframe.h > 1 + _ROUNDING:
        (place / "h").report(IssueCode.OUT_OF_RANGE)
