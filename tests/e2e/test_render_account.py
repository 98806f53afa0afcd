"""As whom `framekiln render` works when root runs it, seen in /proc, and whose its output is."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from PIL import Image

from framekiln.cli import film_account as film_account_module
from framekiln.cli.film_account import FilmProcessEnded, film_account, folder_for, publish
from framekiln.kit.account import STRANGER_ID, Account, AccountUnusable
from framekiln.settings import Settings
from tests.e2e.conftest import processes_under
from tests.support.timeouts import TIMEOUT_S

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0, reason="not run by root, who alone can be somebody else"
)
SECRETS = {"FRAMEKILN_API_KEY": "tell-nobody-1", "AWS_SECRET_ACCESS_KEY": "tell-nobody-2"}
PAGE = """<html data-width=64 data-height=64 data-fps=10 data-duration-ms=3600000>
<body style="margin:0;background:#000"><img src="pictures/red.png">"""


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A folder with a page and a picture that only root can read."""
    folder = tmp_path / "private"
    (folder / "pictures").mkdir(parents=True)
    (folder / "page.html").write_text(PAGE)
    Image.new("RGB", (64, 64), (255, 0, 0)).save(folder / "pictures" / "red.png")
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return folder


def start(folder: Path, output: str, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "framekiln", "render", "page.html", "-o", output, *words]
    return subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **SECRETS},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_still_of_files_that_only_root_can_read_belongs_to_root(
    private: Path, tmp_path: Path
) -> None:
    process = start(private, "../red.png", "--json")
    output, errors = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, errors
    assert json.loads(output)["output"] == "../red.png"
    still = tmp_path / "red.png"
    found = still.stat()
    assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (0, 0, 0o644)
    with Image.open(still) as picture:
        assert picture.convert("RGB").getpixel((9, 9)) == (255, 0, 0)
    assert names_in(tmp_path) == ["private", "red.png"]
    assert names_in(private) == ["page.html", "pictures"]


def test_a_page_is_found_through_a_link_to_its_folder(private: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir(mode=0o700)
    (place / "linked").symlink_to(private)
    command = [sys.executable, "-P", "-m", "framekiln", "render", "linked/page.html", "-o", "a.png"]
    made = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    with Image.open(place / "a.png") as picture:
        assert picture.convert("RGB").getpixel((5, 5)) == (255, 0, 0)


def test_no_process_that_reads_a_page_is_root_or_has_secrets(private: Path) -> None:
    process = start(private, "film.mp4")
    try:
        wait_for_page(process)
        root, *others = facts_of(process.pid, *processes_under(process.pid))
        assert root["Uid"].split() == ["0"] * 4
        assert len(others) > 3
        for status in others:
            assert status["Uid"].split() == [str(STRANGER_ID)] * 4, status
            assert status["Gid"].split() == [str(STRANGER_ID)] * 4, status
            assert status["Groups"] == "", status
            assert status["NoNewPrivs"] == "1" or "bwrap" in status["Name"], status
            assert "tell-nobody" not in status["environ"], status
        film = next(each for each in others if "film_child" in each["cmdline"])
        assert (int(film["CapEff"], 16), film["Umask"]) == (0, "0077")
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=TIMEOUT_S)
    assert process.returncode != 0
    assert names_in(private) == ["page.html", "pictures"]


def test_root_makes_no_films_unless_that_is_allowed() -> None:
    settings = Settings(run_as="0", allow_unconfined=False)
    with pytest.raises(AccountUnusable, match="FRAMEKILN_RUN_AS=0: root makes no films"):
        film_account(settings)
    assert film_account(settings.model_copy(update={"allow_unconfined": True})).uid == 0
    assert film_account(settings.model_copy(update={"run_as": "1234"})) == Account(1234, 1234)


@pytest.mark.parametrize("kind", ["link", "folder of others", "folder with files"])
def test_what_replaces_a_temporary_folder_keeps_its_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    theirs, other = tmp_path / "theirs", tmp_path / "other"
    theirs.mkdir()
    if kind == "link":
        other.mkdir()
        theirs.rmdir()
        theirs.symlink_to(other)
    elif kind == "folder of others":
        os.chown(theirs, 1234, 1234)
    else:
        (theirs / "file").touch()
    owners: list[int] = []
    monkeypatch.setattr(film_account_module, "mkdtemp", lambda **_words: str(theirs))
    monkeypatch.setattr(os, "fchown", lambda *words: owners.append(words[1]))
    account = Account(STRANGER_ID, STRANGER_ID)
    with pytest.raises(AccountUnusable, match="was replaced"), folder_for(account, "", tmp_path):
        pass
    assert owners == []


def test_a_link_in_place_of_the_film_is_not_published(tmp_path: Path) -> None:
    secret, made, output = tmp_path / "secret", tmp_path / "made" / "film", tmp_path / "film.mp4"
    secret.write_text("root's")
    made.parent.mkdir()
    folder = os.open(made.parent, os.O_RDONLY)
    for other in (made.symlink_to, made.hardlink_to):
        other(secret)
        with pytest.raises((FilmProcessEnded, OSError)):
            publish(folder, output, Account(STRANGER_ID, STRANGER_ID))
        assert names_in(tmp_path) == ["made", "secret"]
    os.close(folder)
    assert secret.stat().st_mode & 0o777 == 0o644


def facts_of(*pids: int) -> list[dict[str, str]]:
    """Return the status, environment and command line of each process that has not ended."""
    found = []
    for place in (Path(f"/proc/{pid}") for pid in pids):
        with suppress(OSError):
            lines = (line.partition(":") for line in (place / "status").read_text().splitlines())
            facts = {name: value.strip() for name, _, value in lines}
            for name in ("environ", "cmdline"):
                facts[name] = (place / name).read_bytes().replace(b"\0", b" ").decode()
            found.append(facts)
    return found


def wait_for_page(process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not any(
        "--type=renderer" in facts["cmdline"] for facts in facts_of(*processes_under(process.pid))
    ):
        assert process.poll() is None, "the render ended by itself"
        assert time.monotonic() < deadline, "no page was opened"
        time.sleep(0.05)


def test_root_shows_no_previews(private: Path) -> None:
    command = [sys.executable, "-P", "-m", "framekiln", "preview", "page.html", "--no-open"]
    ended = subprocess.run(
        command, cwd=private, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert ended.returncode == 1
    assert "root shows no previews: start it as an ordinary user" in " ".join(ended.stderr.split())
