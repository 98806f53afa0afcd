"""Renders, videos, templates and files at the command line, against a running service."""

import json
import shutil
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from tests.e2e.conftest import Terminal
from tests.support.looks import decode_frames
from tests.support.speech_clips import FOLDER

WEBM_MAGIC = b"\x1aE\xdf\xa3"
CONFIG: dict[str, Any] = {
    "dimensions": {"width": 64, "height": 36},
    "duration": 0.5,
    "fps": 10,
    "backgroundColor": "#008080",
    "layers": [{"id": "t", "type": "text", "text": {"text": "{{ name }}"}}],
}


def test_templates_and_videos_are_managed_at_the_command_line(
    terminal: Terminal, tmp_path: Path
) -> None:
    late = {"id": "late", "type": "text", "text": {"text": "late"}, "timeline": {"start": 5}}
    template = {
        "$schema": "https://films.example.com/schemas/template.json",
        "name": "Greeting",
        "config": {**CONFIG, "layers": [*CONFIG["layers"], late]},
        "inputs": {"name": "required|string"},
        "defaultvalues": {},
    }
    made = terminal.ask("templates", "create", terminal.write("template.json", template))
    assert [(each["path"], each.get("hint")) for each in made["warnings"]] == [
        ("defaultvalues", "did you mean default_values?"),
        ("default_values", None),
    ]
    assert made["id"] in terminal.type("templates", "list").stdout
    assert terminal.ask("templates", "get", made["id"])["name"] == "Greeting"
    schema = json.loads(terminal.type("templates", "schema", made["id"]).stdout)
    assert schema["required"] == ["name"]
    film = tmp_path / "ada.mp4"
    render = ("templates", "render", made["id"], "--data", '{"name": "Ada"}')
    video = terminal.ask(*render, "-o", str(film))
    assert (video["is_ready"], len(decode_frames(film))) == (True, 5)
    misnamed = terminal.type(*render, "-o", str(tmp_path / "ada.gif"))
    assert "is .mp4: end the name in .mp4" in misnamed.stderr
    assert not (tmp_path / "ada.gif").exists()
    found = {each["path"]: each["code"] for each in video["warnings"]}
    assert found["layers.1"] == "never_shown"
    refused = terminal.type("templates", "render", made["id"], "--json")
    assert refused.exit_code == 1
    assert json.loads(refused.stderr)["status"] == 422
    # The same film is there already.
    config = terminal.write("config.json", {**CONFIG, "layers": []})
    again = terminal.type("videos", "create", config, "--wait")
    assert again.stdout.split()[1] == "ready"
    moving = tmp_path / "film.webm"
    assert terminal.type("videos", "create", config, "-o", str(moving)).exit_code == 0
    assert moving.read_bytes().startswith(WEBM_MAGIC)
    watched = terminal.type("videos", "watch", again.stdout.split()[0])
    assert watched.stdout == again.stdout
    copy = terminal.ask("videos", "download", video["id"], "-o", str(tmp_path / "copy.mp4"))
    assert copy["byte_size"] == film.stat().st_size
    frame = tmp_path / "frame.png"
    assert terminal.type("videos", "frame", config, "-o", str(frame)).exit_code == 0
    assert frame.read_bytes().startswith(b"\x89PNG")
    plan = json.loads(terminal.type("videos", "plan", config).stdout)
    assert plan["frame_count"] == 5
    listed = {each["id"] for each in terminal.ask("videos", "list")}
    assert {video["id"], again.stdout.split()[0]} <= listed
    assert terminal.ask("videos", "delete", video["id"]) == {"id": video["id"], "deleted": True}
    assert terminal.type("videos", "get", video["id"]).exit_code == 1
    changed = terminal.write("changed.json", {**template, "name": "Farewell"})
    updated = terminal.ask("templates", "update", made["id"], changed)
    assert (updated["id"], updated["name"], updated["version"]) == (made["id"], "Farewell", 2)
    versions = terminal.ask("templates", "versions", made["id"])
    assert [(each["version"], each["name"]) for each in versions] == [
        (2, "Farewell"),
        (1, "Greeting"),
    ]
    check_bulk(terminal, made["id"], tmp_path)
    assert terminal.type("templates", "delete", made["id"]).exit_code == 0


def check_bulk(terminal: Terminal, template_id: str, folder: Path) -> None:
    """Make a video of each row of a table; a table with a wrong row starts nothing."""
    table, archive = folder / "people.csv", folder / "videos.zip"
    table.write_text('name\nAda\n""\n')
    refused = terminal.type("bulks", "create", template_id, str(table))
    assert refused.exit_code == 1
    assert refused.stderr == "error: rows.2.data.name: name is required (422)\n"
    table.write_text("name,nick\nAda,A\nGrace,G\n")
    create = ("bulks", "create", template_id, str(table), "--key", "people")
    bulk = terminal.ask(*create, "-o", str(archive))
    assert (bulk["status"], bulk["counts"]["ready"]) == ("complete", 2)
    assert [(each["row"], each["path"]) for each in bulk["warnings"]] == [(1, "data.nick")]
    assert terminal.ask(*create)["id"] == bulk["id"]
    assert bulk["id"] in terminal.type("bulks", "list").stdout
    with ZipFile(archive) as files:
        films = [name for name in files.namelist() if name.endswith(".mp4")]
    assert len(films) == 2
    rows = terminal.ask("bulks", "rows", bulk["id"])
    assert [row["data"]["name"] for row in rows] == ["Ada", "Grace"]
    results = folder / "results.csv"
    assert terminal.type("bulks", "manifest", bulk["id"], "-o", str(results)).exit_code == 0
    assert [line.split(",")[0] for line in results.read_text().splitlines()] == ["row", "1", "2"]


def test_renders_and_files_are_managed_at_the_command_line(
    terminal: Terminal, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<body><style>body { animation: blue 1s } @keyframes blue {"
        " 0%, 40% { background: transparent } 41%, to { background: blue } }</style>"
    )
    still = tmp_path / "still.png"
    size = ("--width", "64", "--height", "36", "--at", "0.5s", "--transparent")
    made = terminal.ask("renders", "create", str(page), *size, "-o", str(still))
    assert made["status"] == "complete"
    assert decode_frames(still)[0].rgb[18, 32].tolist() == [0, 0, 255]
    misnamed = terminal.type("renders", "download", made["id"], "-o", str(tmp_path / "still.mp4"))
    assert "is .png: end the name in .png" in misnamed.stderr
    assert terminal.type("renders", "watch", made["id"]).stdout == f"{made['id']}  complete\n"
    assert made["id"] in terminal.type("renders", "list", "--status", "complete").stdout
    check_bundle(terminal, tmp_path)
    file = terminal.ask("upload", str(still), "--wait")
    assert terminal.ask("files", "list", "--search", "STILL")[0]["id"] == file["id"]
    assert terminal.ask("files", "watch", file["id"])["status"] == "ready"
    copy = tmp_path / "copy.png"
    assert terminal.type("files", "download", file["id"], "-o", str(copy)).exit_code == 0
    assert copy.read_bytes() == still.read_bytes()
    for noun, each in (("renders", made["id"]), ("files", file["id"])):
        assert terminal.type(noun, "delete", each).stdout == f"{each}  deleted\n"
        assert terminal.type(noun, "get", each).exit_code == 1


def check_bundle(terminal: Terminal, folder: Path) -> None:
    """Render a folder, and the same as a bundle: the style beside the page is used."""
    card = folder / "card"
    card.mkdir()
    (card / "index.html").write_text("<link rel=stylesheet href=style.css><body>")
    (card / "style.css").write_text("body { background: #0000ff }")
    shutil.make_archive(str(folder / "card"), "zip", card)
    for named in ("card", "card.zip"):
        still = folder / f"{named}.png"
        create = ("renders", "create", str(folder / named), "--width", "64", "--height", "36")
        assert terminal.ask(*create, "-o", str(still))["status"] == "complete"
        assert decode_frames(still)[0].rgb[18, 32].tolist() == [0, 0, 255]
    (card / "outside.css").symlink_to("/etc/hostname")
    refused = terminal.type("renders", "create", str(card))
    assert refused.exit_code == 1
    assert "outside.css is a link out of" in refused.stderr


def test_files_are_transcribed_at_the_command_line(terminal: Terminal, tmp_path: Path) -> None:
    file = terminal.ask("upload", str(FOLDER / "austen_0880.flac"), "--wait")
    captions = tmp_path / "speech.vtt"
    made = terminal.ask("transcriptions", "create", file["id"], "-o", str(captions))
    assert made["status"] == "complete"
    assert captions.read_text().startswith("WEBVTT")
    spoken = (FOLDER / "austen_0880.tsv").read_text().split()[-1].strip(".,")
    assert spoken in captions.read_text()
    assert terminal.type("transcriptions", "watch", made["id"]).stdout.endswith("  complete\n")
    assert terminal.ask("transcriptions", "get", made["id"])["id"] == made["id"]
    assert made["id"] in terminal.type("transcriptions", "list", "--file", file["id"]).stdout
    download = ("transcriptions", "download", made["id"], "-o")
    assert terminal.type(*download, str(tmp_path / "speech.srt")).exit_code == 0
    assert " --> " in (tmp_path / "speech.srt").read_text()
    named = terminal.ask(*download, str(tmp_path / "words.txt"), "--format", "json")
    assert json.loads((tmp_path / "words.txt").read_text())
    assert named["byte_size"] == (tmp_path / "words.txt").stat().st_size
    refused = terminal.type(*download, str(tmp_path / "speech.docx"))
    assert (refused.exit_code, "must end in .vtt, .srt or .json" in refused.stderr) == (1, True)
