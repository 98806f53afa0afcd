"""Nothing but its own module names a step type; nothing but the wiring knows the table.

Names that are plain words ("probe", "filter") mean other things where nobody knows pipelines, so
those are looked for in modules of pipelines and in modules that import them; the others everywhere.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import framekiln
from framekiln.pipelines.steps import STEP_TYPES

SOURCE = Path(framekiln.__file__).parent
PIPELINES = "framekiln.pipelines"
STEPS = f"{PIPELINES}.steps"
TABLE = SOURCE / "pipelines" / "steps" / "__init__.py"
WIRING = SOURCE / "pipelines" / "wiring.py"


def imports(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports, also inside functions; names of a package are joined to it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield from (f"{node.module}.{each.name}" for each in node.names)


def is_within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def named_types(tree: ast.AST, *, knows_pipelines: bool) -> set[str]:
    """Return the types that are named by texts, by themselves or quoted as in SQL."""
    texts = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return {
        name
        for name in STEP_TYPES
        if "_" in name or knows_pipelines
        if any(text == name or f"'{name}'" in text for text in texts)
    }


def violations(path: Path, source: str) -> set[str]:
    """Return what a module says of step types that it must not."""
    # Most modules have none of these words, and parsing is what takes the time.
    if not any(word in source for word in (*STEP_TYPES, "steps")):
        return set()
    tree = ast.parse(source)
    imported = set(imports(tree))
    is_inside = SOURCE / "pipelines" in path.parents
    knows_pipelines = is_inside or any(is_within(each, PIPELINES) for each in imported)
    named = named_types(tree, knows_pipelines=knows_pipelines)
    if path.parent == TABLE.parent:
        named.discard(path.stem)
    allowed = {WIRING: {f"{STEPS}.STEP_TYPES"}, TABLE: {f"{STEPS}.{name}" for name in STEP_TYPES}}
    steps = {each for each in imported if is_within(each, STEPS)}
    return named | (steps - allowed.get(path, set()))


def test_no_module_names_a_step_type_of_another() -> None:
    found = {
        str(path.relative_to(SOURCE)): wrong
        for path in sorted(SOURCE.rglob("*.py"))
        if (wrong := violations(path, path.read_text()))
    }
    assert found == {}


def test_each_type_has_a_module_of_its_name_and_each_module_a_type() -> None:
    modules = {path.stem for path in TABLE.parent.glob("*.py")} - {TABLE.stem}
    assert modules == set(STEP_TYPES)


@pytest.mark.parametrize(
    ("path", "source", "wrong"),
    [
        ("pipelines/execution/new.py", "if step.type == 'review': pass", {"review"}),
        ("pipelines/stores/new.py", "SQL = \"WHERE type = 'filter'\"", {"filter"}),
        ("worker/new.py", "import framekiln.pipelines\nRUNNERS = {'probe': 1}", {"probe"}),
        ("media/new.py", "NAME = 'sample_frames'", {"sample_frames"}),
        ("media/new.py", "NAME = 'filter'", set()),
        ("pipelines/steps/publish.py", "NAME = 'publish'", set()),
        ("pipelines/steps/publish.py", "NEAR = 'redact_render'", {"redact_render"}),
        ("api/new.py", f"from {STEPS} import STEP_TYPES", {f"{STEPS}.STEP_TYPES"}),
        (
            "worker/new.py",
            f"def f():\n    from {STEPS}.publish import PublishRunner",
            {f"{STEPS}.publish.PublishRunner"},
        ),
        ("pipelines/wiring.py", f"from {STEPS} import STEP_TYPES", set()),
        ("pipelines/wiring.py", f"from {STEPS} import publish", {f"{STEPS}.publish"}),
    ],
)
def test_the_search_finds_what_it_looks_for(path: str, source: str, wrong: set[str]) -> None:
    assert violations(SOURCE / path, source) == wrong
