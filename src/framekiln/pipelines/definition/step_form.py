"""How steps are written in JSON: a form for each type of step, made from what the type says."""

from collections.abc import Collection
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from functools import cache
from typing import Annotated, Any, Final, Literal, cast

from pydantic import Field, PlainValidator, ValidationInfo

from framekiln.pipelines.definition.model import Segmentation, StepName, StepSettings
from framekiln.pipelines.definition.predicate_form import PredicateContext, PredicateField
from framekiln.pipelines.definition.step_rules import StepRules
from framekiln.pipelines.schema.field_types import (
    ContextType,
    IntegerBetween,
    JsonType,
    NotAllowed,
    SortedSet,
)
from framekiln.pipelines.schema.issues import InnerIssues, IssueCode, Location, issue_error
from framekiln.pipelines.schema.records import Record, read

MAX_NEEDS: Final = 16
MIN_WINDOW_MS: Final = 1000
MAX_WINDOW_MS: Final = 3_600_000


@dataclass(frozen=True, kw_only=True)
class StepContext(PredicateContext):
    """What a step is read with."""

    steps: Collection[str]
    """The keys of all steps."""


class NeededStep(ContextType[StepContext]):
    """The key of a step of the same definition."""

    def check_in(self, value: Any, context: StepContext) -> str:
        """See `ContextType`."""
        if not isinstance(value, str):
            raise issue_error(IssueCode.TYPE)
        if value not in context.steps:
            raise issue_error(IssueCode.UNKNOWN_STEP)
        return value

    def described(self) -> Any:
        """See `JsonType`."""
        return StepName


class UnknownStepType(JsonType):
    """What stands for a type of step and is none."""

    def check(self, value: Any) -> Any:
        """See `JsonType`."""
        raise issue_error(IssueCode.UNKNOWN_TYPE if isinstance(value, str) else IssueCode.TYPE)

    def described(self) -> Any:
        """See `JsonType`."""
        return str


@dataclass(frozen=True, kw_only=True)
class FileGranularity(Record):
    """The whole file at once."""

    mode: Literal["file"]
    window_ms: Annotated[Any, NotAllowed()] = None
    overlap_ms: Annotated[Any, NotAllowed()] = None


def _read_overlap(value: Any, info: ValidationInfo) -> int:
    longest_ms = info.data.get("window_ms", MAX_WINDOW_MS) // 2
    overlap_ms: int = IntegerBetween(0, longest_ms).check(value)
    return overlap_ms


_Overlap = Annotated[int, Field(ge=0, le=MAX_WINDOW_MS // 2)]


@dataclass(frozen=True, kw_only=True)
class SegmentGranularity(Record):
    """One window after the other; at most half of a window is overlap."""

    mode: Literal["segment"]
    window_ms: Annotated[int, IntegerBetween(MIN_WINDOW_MS, MAX_WINDOW_MS)]
    overlap_ms: Annotated[int, PlainValidator(_read_overlap, json_schema_input_type=_Overlap)] = 0


@dataclass(frozen=True, kw_only=True)
class InvalidGranularity(Record):
    """One without a mode that exists: nothing can be said of its windows."""

    mode: Literal["file", "segment"]
    window_ms: Any = None
    overlap_ms: Any = None


@dataclass(frozen=True)
class Granularity(JsonType):
    """How a step's work is cut."""

    segmentable: bool

    def check(self, value: Any) -> Segmentation | None:
        """Return the windows, None for the whole file; or raise."""
        if not isinstance(value, dict):
            raise issue_error(IssueCode.TYPE)
        issues = InnerIssues()
        segmentation = None
        if value.get("mode") == "segment":
            segmentation = self._read_segmentation(value, issues.place)
        else:
            is_file = value.get("mode") == "file"
            read(FileGranularity if is_file else InvalidGranularity, value, issues.place)
        issues.raise_any()
        return segmentation

    def described(self) -> Any:
        """See `JsonType`."""
        return FileGranularity | SegmentGranularity if self.segmentable else FileGranularity

    def _read_segmentation(self, value: dict[Any, Any], place: Location) -> Segmentation | None:
        if not self.segmentable:
            (place / "mode").report(IssueCode.NOT_ALLOWED)
        if "window_ms" not in value:
            # How long an overlap may be is not known.
            value = {name: each for name, each in value.items() if name != "overlap_ms"}
        form = read(SegmentGranularity, value, place)
        return None if form is None else Segmentation(form.window_ms, form.overlap_ms)


@dataclass(frozen=True, kw_only=True)
class StepForm(Record):
    """One step; a type of step says more of its last three fields."""

    type: Annotated[str, UnknownStepType()]
    needs: Annotated[tuple[Annotated[str, NeededStep()], ...], SortedSet(MAX_NEEDS, minimum=0)] = ()
    namespace: StepName = field(default_factory=str)
    """Empty when none is given: it is the key then."""
    granularity: Annotated[Segmentation | None, Granularity(segmentable=True)] = None
    settings: Annotated[Any, Field(alias="with")] = None
    when: Any = None


def read_step_form(
    value: Any, step_type: StepRules | None, place: Location, *, context: StepContext
) -> StepForm | None:
    """Return a step as it is written; or report all that is wrong with it.

    Without a type that exists, nothing can be said of its settings.
    """
    if step_type is None:
        return read(StepForm, value, place, context=context)
    if step_type.settings is not None:
        # Without settings, those that have no default are missing, not `with`.
        value = {"with": {}, **value}
    return read(step_form(step_type), value, place, context=context)


@cache
def step_form(step_type: StepRules) -> type[StepForm]:
    """Return the form of a type of step."""
    granularity = Annotated[Segmentation, Granularity(step_type.segmentable)]
    words = [word.capitalize() for word in step_type.name.split("_")]
    form = make_dataclass(
        f"{''.join(words)}Step",
        [
            ("type", Literal[step_type.name]),
            ("granularity", granularity, field(default_factory=_nothing)),
            ("settings", *_settings_field(step_type.settings)),
            ("when", *_when_field(step_type)),
        ],
        bases=(StepForm,),
        namespace={"__doc__": f"A step of type {step_type.name}."},
        frozen=True,
        kw_only=True,
    )
    return cast(type[StepForm], form)


def _needs_settings(settings: type[StepSettings]) -> bool:
    """Whether some settings have no default."""
    return any(
        each.default is MISSING and each.default_factory is MISSING for each in fields(settings)
    )


def _settings_field(settings: type[StepSettings] | None) -> tuple[Any, ...]:
    if settings is None:
        return Annotated[Any, NotAllowed(), Field(alias="with")], None
    default = field() if _needs_settings(settings) else field(default_factory=settings)
    return Annotated[settings, Field(alias="with")], default


def _when_field(step_type: StepRules) -> tuple[Any, ...]:
    if step_type.takes_predicate:
        return PredicateField, field()
    return Annotated[Any, NotAllowed()], None


def _nothing() -> None:
    return None
