"""Snippets in the documents are right: our readers accept JSON, and compilers the programs.

Nothing runs here: tests/e2e types the commands of tutorials, guides and the reference.
"""

import ast
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
import typer
from jsonschema_rs import Draft202012Validator

from framekiln.cli.program import app
from framekiln.composition.layers.config_json import read_config
from framekiln.pipelines.services.pipelines import read_definition
from framekiln.pipelines.steps import STEP_TYPES
from tests.support.api_document import api_document
from tests.support.timeouts import TIMEOUT_S

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    ROOT / "clients/typescript/README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
BLOCK = re.compile(r"^( *)```(\w+)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"(?:^|\s)#\s.*$", re.MULTILINE)
# They end a command, as a line break does.
SEPARATORS: Final = ";&|()<>\n"
PATH = re.compile(r"(?:/api/v1|/v2)(?:/[^?\s]*)?")
DATA_OPTIONS = {"-d", "--data", "--data-binary", "--json", "-F"}
PLACEHOLDER = re.compile(r"<(\w[\w -]*)>")
TYPESCRIPT_READER = """
declare const input: { files: [File] };
declare const request: Request;
declare const secret: string;
"""
# What a command says of files of the reader, which are not here.
NOT_HERE = re.compile(r"does not exist|no such file", re.IGNORECASE)


@dataclass(frozen=True)
class Snippet:
    page: str
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


def snippets(*languages: str) -> list[Snippet]:
    found = []
    for page in PAGES:
        text = page.read_text("utf-8")
        for block in BLOCK.finditer(text):
            indent, language, content = block.groups()
            if language in languages:
                content = re.sub(f"^{indent}", "", content, flags=re.MULTILINE)
                line = text.count("\n", 0, block.start()) + 2
                found.append(Snippet(str(page.relative_to(ROOT)), line, content))
    return found


def commands(snippet: Snippet) -> Iterator[list[str]]:
    """Yield the words of each command in a shell snippet."""
    text = PLACEHOLDER.sub("placeholder", COMMENT.sub("", snippet.text)).replace("\\\n", " ")
    words = shlex.shlex(text, posix=True, punctuation_chars=SEPARATORS)
    words.whitespace, words.whitespace_split, words.commenters = " \t", True, ""
    command: list[str] = []
    for word in words:
        if not set(word) <= set(SEPARATORS):
            command.append(word)
            continue
        yield command
        command = []
    yield command


def commands_named(name: str) -> list[tuple[str, list[str]]]:
    """Return where a program is called in the documents, and with which words."""
    found = []
    for snippet in snippets("sh"):
        for command in commands(snippet):
            # Variables may be set for one command.
            words = command
            while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
                words = words[1:]
            if words and words[0].rpartition("/")[2] == name:
                found.append((snippet.place, words[1:]))
    return found


def route(method: str, path: str) -> dict[str, Any] | None:
    """Return the route of a request; one without placeholders first."""
    for template in sorted(api_document()["paths"], key=lambda each: each.count("{")):
        pattern = re.sub(r"\{[^}]+\}", "[^/]+", template.replace(".", r"\."))
        operation = api_document()["paths"][template].get(method)
        if operation is not None and re.fullmatch(pattern, path):
            return dict(operation)
    return None


def option(words: list[str], names: set[str]) -> str | None:
    return next((value for name, value in pairwise(words) if name in names), None)


def requests() -> list[tuple[str, str, str, str]]:
    """Return place, method, path and body of each request to the service with curl."""
    found = []
    for place, words in commands_named("curl"):
        path = next((at[0] for word in words if (at := PATH.search(word)) and "{" not in word), "")
        sent = option(words, DATA_OPTIONS)
        method = option(words, {"-X", "--request"}) or ("GET" if sent is None else "POST")
        if path:
            found.append((place, method.lower(), path, sent or ""))
    return found


def test_there_are_snippets_to_check() -> None:
    assert len(snippets("json")) > 40
    assert len(snippets("python")) > 10
    assert len(commands_named("framekiln")) > 50
    assert len([body for *_, body in requests() if body]) > 10


@pytest.mark.parametrize("snippet", snippets("json"), ids=lambda each: each.place)
def test_json_is_json(snippet: Snippet) -> None:
    """A snippet is a value, the fields of an object, or a value in each line."""
    text = snippet.text.strip()
    if text.startswith('"'):
        json.loads(f"{{{text}}}")
        return
    try:
        json.loads(text)
    except json.JSONDecodeError:
        for line in text.splitlines():
            json.loads(line)


def test_layers_and_steps_are_accepted_by_our_readers() -> None:
    layers, steps = [], []
    for snippet in snippets("json"):
        for value in _objects(snippet.text):
            if value.get("type") in ("group", "sequence"):
                size = {"width": 640, "height": 360}
                layers.append({"dimensions": size, "duration": 9, "layers": [value]})
            elif isinstance(value.get("layers"), list):
                layers.append(value)
            elif isinstance(value.get("steps"), dict):
                steps.append(value)
    assert (len(layers), len(steps)) >= (5, 1)
    assert [read_config(config).warnings for config in layers] == [()] * len(layers)
    for definition in steps:
        read_definition(definition, STEP_TYPES)


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield an object and all objects in it, except for what is inside a config or definition."""
    try:
        pending = [json.loads(text)]
    except json.JSONDecodeError:
        return
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            yield value
            if not {"layers", "steps"} & value.keys():
                pending += value.values()


def test_typescript_compiles_against_the_client(tmp_path: Path) -> None:
    """The snippets of a page are one program; what the reader has is declared before it."""
    pages = {"docs/howto/typescript-client.md", "clients/typescript/README.md"}
    found = snippets("ts")
    assert {each.page for each in found} == pages
    for number, page in enumerate(sorted(pages)):
        texts = [each.text for each in found if each.page == page]
        program = tmp_path / f"program-{number}.mts"
        program.write_text("\n".join([TYPESCRIPT_READER, *texts, "export {};"]))
    client = ROOT / "clients" / "typescript"
    options = {
        "noEmit": True,
        "paths": {"framekiln": [str(client / "src" / "index.ts")]},
        "types": ["node"],
        "typeRoots": [str(client / "node_modules" / "@types")],
    }
    project = {"extends": str(client / "tsconfig.json"), "compilerOptions": options}
    settings = tmp_path / "tsconfig.json"
    settings.write_text(json.dumps({**project, "include": ["*.mts"]}))
    node, compiler = Path(sys.executable).with_name("node"), client / "node_modules/typescript"
    done = subprocess.run(
        [node, compiler / "bin/tsc", "--project", settings],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("snippet", snippets("python"), ids=lambda each: each.place)
def test_python_is_python(snippet: Snippet) -> None:
    # A snippet may be one row of a table.
    is_row = re.match(r'"\w', snippet.text) is not None
    text = f"{{{snippet.text}}}" if is_row else snippet.text
    compile(text, snippet.place, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_commands_have_the_options_that_exist() -> None:
    assert [problem for each in commands_named("framekiln") if (problem := refusal(*each))] == []


def refusal(place: str, words: list[str]) -> str | None:
    """Return what the command line says against a command; None when it would run."""
    command: Any = typer.main.get_command(app)
    context: Any = None
    name, rest = "framekiln", words
    try:
        while True:
            context = command.make_context(name, list(rest), parent=context)
            if not hasattr(command, "resolve_command"):
                return None
            left = [*context._protected_args, *context.args]
            name, command, rest = command.resolve_command(context, left)
    except (typer.Exit, SystemExit):
        return None
    except Exception as error:
        said = getattr(error, "message", "") or str(error) or type(error).__name__
        return None if NOT_HERE.search(said) else f"{place}: framekiln {shlex.join(words)}: {said}"


def test_requests_are_those_of_the_api() -> None:
    unknown = [
        f"{place}: {method} {path}"
        for place, method, path, _ in requests()
        if route(method, path) is None
    ]
    assert unknown == []


def test_bodies_of_requests_are_valid() -> None:
    problems = []
    for place, method, path, body in requests():
        content = ((route(method, path) or {}).get("requestBody") or {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        if schema is None or body[:1] not in ("{", "[") or "$(cat " in body:
            continue
        whole = {**schema, "components": api_document()["components"]}
        # What the shell puts in is a number here: where it is text, it is in quotes.
        value = json.loads(re.sub(r"\$\([^)]*\)", "1", body))
        found = Draft202012Validator(whole).iter_errors(value)
        problems += [f"{place}: {each.instance_path}: {each.message[:200]}" for each in found]
    assert problems == []
