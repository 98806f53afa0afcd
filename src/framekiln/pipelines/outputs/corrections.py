"""What a reviewer changed: annotations that replace those of their kinds for all later steps."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from framekiln.pipelines.outputs.model import (
    MAX_ANNOTATIONS,
    MAX_KINDS,
    MAX_OUTPUT_BYTES,
    Annotation,
    AnnotationKind,
    StepOutput,
)
from framekiln.pipelines.outputs.validation import CheckedAnnotation
from framekiln.pipelines.schema.field_types import ListOf, SortedSet
from framekiln.pipelines.schema.issues import IssueCode, Location, ValidationIssue, sorted_issues
from framekiln.pipelines.schema.records import Record, read


@dataclass(frozen=True, kw_only=True)
class CorrectionBody(Record):
    """`metadata_patch` of an approval."""

    annotations: Annotated[tuple[CheckedAnnotation, ...], ListOf(MAX_ANNOTATIONS)] = ()
    reviewed_kinds: Annotated[
        tuple[AnnotationKind, ...], SortedSet(minimum=0, maximum=MAX_KINDS)
    ] = ()


@dataclass(frozen=True)
class Correction:
    """All annotations of some kinds, as a reviewer left them."""

    kinds: frozenset[str]
    """A kind of which there is no annotation is removed."""
    annotations: tuple[Annotation, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the correction as stored and shown: a `metadata_patch`."""
        annotations = [each.to_json() for each in self.annotations]
        return {"annotations": annotations, "reviewed_kinds": sorted(self.kinds)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Correction":
        """Return a stored correction; it is not checked again."""
        annotations = tuple(map(Annotation.from_json, stored["annotations"]))
        return cls(frozenset(stored["reviewed_kinds"]), annotations)


@dataclass(frozen=True)
class ReviewedNamespaces:
    """A correction with what it is about."""

    correction: Correction
    namespaces: tuple[str, ...]
    """What the reviewer saw, in the order of the definition. Others stay as they are: nobody has
    looked at them, and a face nobody has seen must not lose its box."""
    own_namespace: str
    """That of the review itself, for kinds that nobody had found."""


def check_correction(value: Any) -> Correction | list[ValidationIssue]:
    """Return the correction written in a `metadata_patch`, or all that is wrong with it."""
    issues: list[ValidationIssue] = []
    place = Location(issues) / "metadata_patch"
    body = read(CorrectionBody, value, place)
    if body is None:
        return sorted_issues(issues)
    if StepOutput({}, body.annotations).size_bytes > MAX_OUTPUT_BYTES:
        return [ValidationIssue(place.path, IssueCode.TOO_LARGE)]
    kinds = {*body.reviewed_kinds, *(each.kind for each in body.annotations)}
    return Correction(frozenset(kinds), body.annotations)


def apply_corrections(
    outputs: Mapping[str, StepOutput], reviews: Iterable[ReviewedNamespaces]
) -> dict[str, StepOutput]:
    """Return the outputs, by namespace, as they are after the reviews, one after the other.

    A corrected annotation stands where the first of its kind stood: in the first reviewed namespace
    that had one, or else in that of the review.
    """
    corrected = dict(outputs)
    for review in reviews:
        corrected.update(_corrected(corrected, review))
    return corrected


def _corrected(
    outputs: Mapping[str, StepOutput], review: ReviewedNamespaces
) -> dict[str, StepOutput]:
    kinds = review.correction.kinds
    seen = {name: outputs[name] for name in review.namespaces if name in outputs}
    homes: dict[str, str] = {}
    for name, output in seen.items():
        for annotation in output.annotations:
            homes.setdefault(annotation.kind, name)
    after = {
        name: [each for each in output.annotations if each.kind not in kinds]
        for name, output in seen.items()
    }
    own = outputs.get(review.own_namespace, StepOutput())
    after[review.own_namespace] = list(own.annotations)
    for annotation in review.correction.annotations:
        after[homes.get(annotation.kind, review.own_namespace)].append(annotation)
    before = {**seen, review.own_namespace: own}
    return {name: replace(before[name], annotations=tuple(after[name])) for name in after}
