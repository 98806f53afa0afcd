"""What commands read from files and options, and what they say of what they cannot use."""

from pathlib import Path

import pytest

from framekiln.cli.arguments import resolve_file_id
from framekiln.cli.json_input import read_json
from framekiln.cli.pipeline_endpoints import read_headers
from framekiln.kit.errors import InvalidInput
from tests.unit.client.scripted_service import ScriptedService


def test_a_json_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "definition.json"
    path.write_text('{"steps": {"é": 1}}', "utf-8")
    assert read_json(path) == {"steps": {"é": 1}}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "\xff"])
def test_files_without_a_json_object_are_refused_by_name(text: str, tmp_path: Path) -> None:
    path = tmp_path / "definition.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"definition\.json"):
        read_json(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_json(tmp_path / "none.json")
    with pytest.raises(InvalidInput, match=r"neither the id of a file nor a local file"):
        resolve_file_id(ScriptedService().client, str(tmp_path / "none.mp4"), quiet=True)


def test_an_id_is_not_looked_up() -> None:
    service = ScriptedService()
    file_id = "0f0bd5d1-6f21-4f8e-9a57-0c2a5a8f3b52"
    assert resolve_file_id(service.client, file_id, quiet=True) == file_id
    assert service.requests == []


def test_headers_are_parsed() -> None:
    assert read_headers(["X-A: b: c", "d:e"]) == {"X-A": "b: c", "d": "e"}
    assert read_headers([]) == {}
    for line in ("no colon", ": value"):
        with pytest.raises(InvalidInput, match="Name: value"):
            read_headers([line])
