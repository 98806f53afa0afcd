"""Commands that find no database, and who answers at the port of the service."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from typer.testing import CliRunner

from framekiln.cli.doctor_checks import CheckResult, CheckState, check_port
from framekiln.cli.port import is_service_at
from framekiln.cli.program import app
from framekiln.settings import Settings
from tests.support.ports import ReservedPort


@pytest.mark.parametrize(
    "words",
    [
        ("jobs", "depths"),
        ("jobs", "retry", "1"),
        ("keys", "create"),
        ("orgs", "list"),
        ("users", "list"),
        ("worker",),
        ("api",),
    ],
)
def test_a_command_without_a_database_fails_and_creates_none(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    folder = tmp_path / "none" / "data"
    port = ReservedPort()
    environment = {"FRAMEKILN_DATA": str(folder), "FRAMEKILN_PORT": str(port.number)}
    result = CliRunner().invoke(app, list(words), env={**environment, "DATABASE_URL": None})
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == (
        f"error: there is no database in {folder}: set FRAMEKILN_DATA to the data folder of the"
        " service, or DATABASE_URL to its database; only framekiln serve and framekiln migrate"
        " create one\n"
    )
    assert list(tmp_path.iterdir()) == []


class OtherProgram(BaseHTTPRequestHandler):
    """Another program, which knows every address and answers in JSON."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"status": "ready", "checks": {"database": "ok"}}')

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def other_program() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), OtherProgram) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def look(port: int) -> CheckResult:
    settings = Settings.model_validate({"port": port})
    return check_port(
        settings, is_serving=False, is_answering=is_service_at(settings.host, settings.port)
    )


def test_doctor_recognizes_another_program_on_the_port() -> None:
    with other_program() as port:
        found = look(port)
    assert (found.name, found.state) == ("port", CheckState.MISSING)
    assert "is already in use" in found.detail
    assert look(port) == CheckResult("port", CheckState.OK, f"127.0.0.1:{port} is free")
