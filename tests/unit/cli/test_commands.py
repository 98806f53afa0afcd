"""The command line's own manners: one-line errors, exit codes, JSON."""

import json
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from framekiln.cli.output import ErrorReportingGroup, JsonFlag, write_json, write_table
from framekiln.cli.port import local_url
from framekiln.cli.processes import UnknownQueue, parse_queues
from framekiln.cli.program import app as framekiln
from framekiln.cli.serve import child_environment, child_programs
from framekiln.cli.supervisor import describe_exit
from framekiln.kit.account import current_account
from framekiln.kit.errors import InvalidInput, Unavailable
from framekiln.settings import Settings


def run_raising(error: BaseException, *words: str, debug: str = "0") -> tuple[int, str, object]:
    app = typer.Typer(cls=ErrorReportingGroup, pretty_exceptions_enable=False)

    @app.callback()
    def root() -> None: ...

    @app.command()
    def raising(as_json: JsonFlag = False) -> None:
        raise error

    result = CliRunner().invoke(app, ["raising", *words], env={"FRAMEKILN_DEBUG": debug})
    return result.exit_code, result.stderr, result.exception


def test_a_framekiln_error_is_one_line() -> None:
    code, printed, _ = run_raising(Unavailable("it rains;\n  take an umbrella"))
    assert (code, printed) == (1, "error: it rains; take an umbrella\n")


def test_warnings_of_an_error_are_printed_before_it() -> None:
    error = Unavailable("it rains")
    error.warnings = ("clouds\nabove", "no umbrella")
    code, printed, _ = run_raising(error)
    assert (code, printed) == (
        1,
        "warning: clouds above\nwarning: no umbrella\nerror: it rains\n",
    )


def test_an_interrupt_is_one_line() -> None:
    code, printed, _ = run_raising(KeyboardInterrupt())
    assert (code, printed) == (1, "error: interrupted\n")


def test_an_error_while_an_interrupted_command_cleans_up_is_an_interrupt() -> None:
    error = ValueError("half of a message")
    error.__context__ = KeyboardInterrupt()
    code, printed, _ = run_raising(error)
    assert (code, printed) == (1, "error: interrupted\n")


def test_debug_lets_the_error_through() -> None:
    _, printed, exception = run_raising(Unavailable("it rains"), debug="1")
    assert isinstance(exception, Unavailable)
    assert printed == ""


def test_with_json_an_error_is_json() -> None:
    code, printed, _ = run_raising(Unavailable("it rains", until="noon"), "--json")
    assert code == 1
    assert json.loads(printed) == {"error": "unavailable", "message": "it rains", "until": "noon"}
    code, printed, _ = run_raising(KeyboardInterrupt(), "--json")
    assert json.loads(printed) == {"error": "interrupted", "message": "interrupted"}


@pytest.mark.parametrize(
    ("words", "suggestion"),
    [
        (("rendr",), "No such command 'rendr'. Did you mean 'render', 'renders'?"),
        (("keys", "creat"), "No such command 'creat'. Did you mean 'create'?"),
        (("keys", "create", "--nam", "x"), "No such option: --nam. Did you mean --name?"),
        (("jobs", "list", "--limit", "many"), "Invalid value for '--limit': must be "),
        (("render",), "Missing argument 'composition'."),
    ],
)
def test_a_misspelled_option_suggests_the_right_one(
    words: tuple[str, ...], suggestion: str
) -> None:
    result = CliRunner().invoke(framekiln, list(words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {suggestion}")
    assert result.stderr.endswith(" --help.\n")
    assert result.stderr.count("\n") == 1
    result = CliRunner().invoke(framekiln, [*words, "--json"])
    assert result.exit_code == 2
    assert json.loads(result.stderr)["error"] == "invalid_usage"
    assert json.loads(result.stderr)["message"].startswith(suggestion)


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(framekiln, ["--version"])
    assert (result.exit_code, result.stdout) == (0, f"framekiln {version('framekiln')}\n")


def complete(*words: str) -> set[str]:
    """Return what a shell offers for the last word."""
    environment = {
        "_FRAMEKILN_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(("framekiln", *words)),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner().invoke(framekiln, env=environment, prog_name="framekiln")
    return set(result.stdout.split())


def test_shells_complete_commands_and_options() -> None:
    assert complete("re") == {"render", "renders", "reviews"}
    assert complete("keys", "") == {"create", "list", "revoke", "rotate"}
    assert complete("render", "--data") == {"--data", "--data-file"}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_the_command(shell: str) -> None:
    result = CliRunner().invoke(framekiln, ["completion", shell])
    assert result.exit_code == 0
    assert "_FRAMEKILN_COMPLETE" in result.stdout
    assert f"complete_{shell}" in result.stdout


def test_an_unknown_shell_is_refused() -> None:
    result = CliRunner().invoke(framekiln, ["completion", "dos"])
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("videos", "create", "missing.json"),
            "cannot read missing.json: No such file or directory",
        ),
        (("videos", "create", "-", "--file", "clip"), "must be LAYER=PATH"),
        (("videos", "create", "-", "-o", "film.avi"), "the name must end in .mp4"),
        (("videos", "create", "page.html"), "framekiln renders create renders pages"),
        (("renders", "create", "config.json"), "framekiln videos create makes videos"),
        (("renders", "create", "-", "-o", "film.webm"), "framekiln render makes .webm"),
        (("renders", "create", "-", "-o", "film.mp4", "--at", "1s"), "--at works only for stills"),
        (("renders", "create", "-", "-o", "a.jpg", "--transparent"), "only for stills: .png"),
        (("bulks", "create", "t", "people.csv", "-o", "film.mp4"), "must end in .zip"),
        (("videos", "frame", "-", "-o", "frame.bmp"), "must end with .png"),
        (("videos", "download", "v", "-o", "nowhere/a.mp4"), "there is no folder"),
        (
            ("renders", "create", "missing.html"),
            "cannot read missing.html: No such file or directory",
        ),
        (("templates", "create", "-"), "needs a config, and a name"),
        (("templates", "render", "t", "--data", "[]"), "needs a JSON object"),
    ],
)
def test_wrong_input_is_refused_before_anything_is_sent(
    words: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(framekiln, [*words, "--json"], input="{}")
    assert (result.exit_code, result.stdout) == (1, "")
    said = json.loads(result.stderr)["message"]
    assert message in said
    assert "Errno" not in said


def test_an_invalid_setting_is_named() -> None:
    result = CliRunner().invoke(framekiln, ["doctor"], env={"FRAMEKILN_PORT": "many"})
    assert result.exit_code == 1
    assert result.stderr.startswith("error: FRAMEKILN_PORT: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "command",
    [
        ("serve",),
        ("doctor",),
        ("migrate",),
        *(("keys", verb) for verb in ("create", "list", "revoke")),
        *(
            ("orgs", verb)
            for verb in ("create", "list", "enable-pipelines", "disable-pipelines", "quota")
        ),
        *(("users", verb) for verb in ("create", "list", "password", "delete")),
        *(("jobs", verb) for verb in ("list", "retry", "cancel", "depths")),
        *(("pipelines", verb) for verb in ("list", "get", "create", "archive")),
        *(("pipelines", "versions", verb) for verb in ("list", "get", "create")),
        *(("pipelines", "endpoints", verb) for verb in ("list", "get", "create", "archive")),
        *(("runs", verb) for verb in ("create", "get", "list", "cancel", "retry", "outputs")),
        *(
            (noun, verb)
            for noun in ("videos", "renders", "files")
            for verb in ("list", "get", "watch", "download", "delete")
        ),
        ("videos", "create"),
        ("renders", "create"),
        *(("templates", verb) for verb in ("create", "list", "get", "render", "delete")),
        *(("reviews", verb) for verb in ("list", "approve", "reject")),
        *(("batches", verb) for verb in ("create", "get", "list")),
    ],
)
def test_every_command_with_a_result_has_a_json_option(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(framekiln, [*command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "--json" in result.stdout


def test_json_is_one_line_with_iso_times(capsys: pytest.CaptureFixture[str]) -> None:
    write_json({"at": datetime(2026, 1, 2, tzinfo=UTC), "text": "é\n"})
    written = capsys.readouterr().out
    assert written.count("\n") == 1
    assert json.loads(written) == {"at": "2026-01-02T00:00:00+00:00", "text": "é\n"}


def test_table_shows_brackets_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    write_table(("name", "note"), [("[bold]", None)])
    assert "[bold]" in capsys.readouterr().out


def test_queues_keep_their_order_and_appear_once() -> None:
    assert parse_queues(" io,control ,io,") == ["io", "control"]


@pytest.mark.parametrize("text", ["", ",", "io,paint"])
def test_unknown_queues_are_refused(text: str) -> None:
    with pytest.raises(UnknownQueue, match="choose from control, io, render, media"):
        parse_queues(text)


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:80"),
        ("0.0.0.0", "http://127.0.0.1:80"),
        ("::", "http://[::1]:80"),
        ("::1", "http://[::1]:80"),
        ("host.example", "http://host.example:80"),
    ],
)
def test_local_url_for_every_listen_address(host: str, url: str) -> None:
    assert local_url(host, 80) == url


def test_children_get_the_database_and_the_render_slots() -> None:
    settings = Settings.model_validate({"data": "/data", "render_slots": 3})
    environment = child_environment(settings, "postgresql:///x")
    assert environment["DATABASE_URL"] == "postgresql:///x"
    assert environment["FRAMEKILN_DATA"] == "/data"
    commands = {
        program.name: " ".join(program.argv[4:])
        for program in child_programs(settings, current_account(), environment)
    }
    assert commands == {
        "api": "api",
        "worker-io": "worker --queues control,io,media,playback,endpoints --concurrency 20",
        "worker-media": "worker --queues files,speech,steps --concurrency 3",
        "worker-render": "worker --queues render --concurrency 3",
    }


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (0, "exit code 0"),
        (3, "exit code 3"),
        (-9, "killed by SIGKILL"),
        (-99, "killed by signal 99"),
    ],
)
def test_exit_codes_and_signals_are_described(code: int, words: str) -> None:
    assert describe_exit(code) == words


@pytest.mark.parametrize("count", [1, 2])
def test_issues_are_shown_with_their_hints(count: int) -> None:
    issue = {"path": "a", "code": "required", "message": "is missing", "hint": "did you mean b?"}
    code, printed, _ = run_raising(InvalidInput("a: is missing", issues=[issue] * count))
    assert (code, printed) == (1, "error: a: is missing: did you mean b?\n" * count)
