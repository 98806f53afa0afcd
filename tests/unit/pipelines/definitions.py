"""Definitions to test with: by hand, and drawn at random."""

from typing import Any

from hypothesis import strategies as st

from framekiln.pipelines.definition.model import Definition
from framekiln.pipelines.definition.validation import validate
from framekiln.pipelines.scheduling.run_state import MediaState, RunState, StepState
from framekiln.pipelines.steps import STEP_TYPES

ENDPOINT_ID = "6f1c3c0e-8a57-4f0a-9a53-0d5f6c3a8f10"
SEGMENTS = {"mode": "segment", "window_ms": 5000}


def defined(**steps: Any) -> Definition:
    """Return a valid definition of these steps; a list stands for an endpoint with these needs."""
    written = {
        key: endpoint(*step) if isinstance(step, list | tuple) else step
        for key, step in steps.items()
    }
    definition = validate({"steps": written}, STEP_TYPES)
    assert isinstance(definition, Definition), definition
    return definition


def new_run(definition: Definition, *, media: MediaState) -> RunState[StepState]:
    """Return a run of which nothing has started."""
    return RunState({key: StepState() for key in definition.steps}, media=media)


def endpoint(*needs: str, **more: Any) -> dict[str, Any]:
    return {"type": "endpoint", "needs": list(needs), "with": {"endpoint_id": ENDPOINT_ID}, **more}


def segment(*needs: str, window_ms: int = 5000, overlap_ms: int = 0) -> dict[str, Any]:
    granularity = {"mode": "segment", "window_ms": window_ms, "overlap_ms": overlap_ms}
    return endpoint(*needs, granularity=granularity)


def filter_on(need: str, *more: str) -> dict[str, Any]:
    when = {"path": f"{need}.metadata.found", "op": "eq", "value": True}
    return {"type": "filter", "needs": [need, *more], "when": when}


SETTINGS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    "sample_frames": st.fixed_dictionaries({}, optional={"every_ms": st.integers(100, 600_000)}),
    "detect_scenes": st.fixed_dictionaries(
        {}, optional={"threshold": st.floats(0.01, 1) | st.just(1)}
    ),
    "endpoint": st.fixed_dictionaries(
        {"endpoint_id": st.uuids().map(str)}, optional={"max_concurrency": st.integers(1, 1024)}
    ),
    "review": st.fixed_dictionaries(
        {},
        optional={
            "instructions": st.text(
                st.characters(codec="utf-8", exclude_characters="\0"), min_size=1
            ),
            "expires_after_ms": st.integers(60_000, 2_592_000_000),
            "on_expiry": st.sampled_from(["approve", "reject", "fail"]),
        },
    ),
    "redact_render": st.fixed_dictionaries(
        {"kinds": st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True)}
    ),
    "publish": st.fixed_dictionaries(
        {},
        optional={
            "formats": st.lists(st.sampled_from(["hls", "dash"]), min_size=1, unique=True),
            "source": st.just("original"),
        },
    ),
}
TYPES = ["probe", "transcribe", "filter", *SETTINGS]
SEGMENTABLE = {"transcribe", "sample_frames", "detect_scenes", "endpoint"}


@st.composite
def definitions(draw: st.DrawFn, max_steps: int = 8) -> dict[str, Any]:
    """Draw a valid definition as a caller may write it: some defaults written, some left out."""
    keys = [f"s{number}" for number in range(draw(st.integers(1, max_steps)))]
    steps: dict[str, Any] = {}
    for position, key in enumerate(keys):
        needs = draw(st.lists(st.sampled_from(keys[:position]), unique=True)) if position else []
        steps[key] = draw(_steps(needs))
    return {"steps": steps}


@st.composite
def _steps(draw: st.DrawFn, needs: list[str]) -> dict[str, Any]:
    kind = draw(st.sampled_from([each for each in TYPES if needs or each != "filter"]))
    step: dict[str, Any] = {"type": kind}
    if bool(needs) or draw(st.booleans()):
        step["needs"] = needs
    if kind in SETTINGS:
        step["with"] = draw(SETTINGS[kind])
        if not step["with"] and draw(st.booleans()):
            del step["with"]
    if kind == "filter":
        step["when"] = draw(predicates(needs))
    if kind in SEGMENTABLE and draw(st.booleans()):
        step["granularity"] = {"mode": "segment", "window_ms": draw(st.integers(1000, 9000))}
    return step


def predicates(namespaces: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Draw predicates of at most three levels."""
    paths = st.builds(
        "{}.{}".format,
        st.sampled_from(namespaces),
        st.sampled_from(["metadata.a", "metadata.a.0.b", "annotations", "annotations.0.kind"]),
    )
    scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-5, 5) | st.text("ab")
    leaves = st.one_of(
        st.builds(_leaf, paths, st.sampled_from(["exists", "non_empty"])),
        st.builds(_leaf, paths, st.sampled_from(["eq", "ne", "contains"]), scalars),
        st.builds(_leaf, paths, st.sampled_from(["gt", "gte", "lt", "lte"]), st.integers(-5, 5)),
        st.builds(_leaf, paths, st.just("in"), st.lists(scalars, min_size=1, max_size=4)),
    )
    level_2 = leaves | _combined(leaves)
    return level_2 | _combined(level_2)


def _leaf(path: str, op: str, *value: Any) -> dict[str, Any]:
    return {"path": path, "op": op, **({"value": value[0]} if value else {})}


def _combined(inner: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    lists = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.fixed_dictionaries({"all": lists}),
        st.fixed_dictionaries({"any": lists}),
        st.fixed_dictionaries({"not": inner}),
    )
