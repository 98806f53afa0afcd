"""Accounts: how root hands folders over, and how an account reaches a folder below a closed one."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from framekiln.kit.account import (
    SERVICE_ID,
    Account,
    AccountUnusable,
    UnknownAccount,
    open_to_group,
    parse_account,
    service_account,
    transfer_ownership,
)
from framekiln.kit.mounts import closed_folders

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="not run by root, who alone can use several accounts"
)
SERVICE = Account(SERVICE_ID, SERVICE_ID)
READ_IN_VIEW = """
import subprocess, sys
from pathlib import Path
from framekiln.kit.mounts import open_path_view
try:
    open_path_view([Path(sys.argv[1])])
except OSError as error:
    sys.exit(f"refused: {error}")
become = ["setpriv", "--reuid=64112", "--regid=64112", "--clear-groups"]
subprocess.run([*become, "cat", sys.argv[1] + "/seen"], check=False)
subprocess.run([*become, "cat", sys.argv[2]], check=False)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that every user may enter; pytest's own are closed."""
    made = Path(tempfile.mkdtemp(prefix="framekiln-test-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def modes_and_owners(folder: Path) -> dict[str, tuple[int, int]]:
    found = [folder, *folder.rglob("*")]
    return {p.name: (p.lstat().st_mode & 0o777, p.lstat().st_uid) for p in found}


@needs_root
def test_files_of_root_change_their_owner_once(folder: Path) -> None:
    blobs, outside = folder / "blobs", folder / "outside"
    (blobs / "org").mkdir(parents=True, mode=0o755)
    for path in (outside, blobs / "org" / "film"):
        path.write_text("x")
        path.chmod(0o644)
    (blobs / "link").symlink_to(outside)
    transfer_ownership(blobs, SERVICE)
    found = modes_and_owners(blobs)
    assert found.pop("link")[1] == SERVICE_ID
    assert found == dict.fromkeys(("blobs", "org"), (448, SERVICE_ID)) | {
        "film": (0o600, SERVICE_ID)
    }
    assert modes_and_owners(outside) == {"outside": (0o644, 0)}, "a link was followed"
    # The account could have put anything there since.
    (blobs / "org" / "roots").write_text("x")
    transfer_ownership(blobs, SERVICE)
    assert (blobs / "org" / "roots").stat().st_uid == 0


@needs_root
def test_a_folder_of_another_user_is_refused(folder: Path) -> None:
    theirs = folder / "theirs"
    theirs.mkdir()
    os.chown(theirs, 1234, 1234)
    with pytest.raises(AccountUnusable, match=r"belongs to .*1234.*FRAMEKILN_RUN_AS=1234"):
        transfer_ownership(theirs, SERVICE)
    assert theirs.stat().st_uid == 1234


@needs_root
def test_only_the_group_may_enter_the_data_folder(folder: Path) -> None:
    open_to_group(folder, SERVICE_ID)
    found = folder.stat()
    assert (found.st_mode & 0o777, found.st_uid, found.st_gid) == (0o710, 0, SERVICE_ID)


@needs_root
def test_a_folder_below_a_closed_one_is_reached_and_the_rest_is_hidden(folder: Path) -> None:
    closed = folder / "closed"
    (closed / "project").mkdir(parents=True)
    (closed / "project" / "seen").write_text("seen")
    (closed / "secret").write_text("secret")
    for path in (closed / "project", closed / "project" / "seen", closed / "secret"):
        path.chmod(0o755)
    closed.chmod(0o700)
    assert closed_folders([closed / "project"]) == [closed]
    done = subprocess.run(
        [sys.executable, "-c", READ_IN_VIEW, str(closed / "project"), str(closed / "secret")],
        capture_output=True,
        text=True,
        check=False,
    )
    if "refused" in done.stderr:
        pytest.skip("this machine does not let root make a mount namespace")
    assert done.stdout == "seen", done.stderr
    assert "No such file" in done.stderr
    assert (closed.stat().st_mode & 0o777, (closed / "secret").read_text()) == (0o700, "secret")


@needs_root
def test_the_data_folder_is_not_covered_although_it_is_closed(folder: Path) -> None:
    data = folder / "data"
    (data / "blobs").mkdir(parents=True)
    (data / "pg").mkdir()
    data.chmod(0o710)
    script = "import os, sys; enter_account(Settings()); print(sorted(os.listdir(sys.argv[1])))"
    imports = (
        "from framekiln.cli.account import enter_account; from framekiln.settings import Settings"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}\n{script}", str(data)],
        env={**os.environ, "FRAMEKILN_DATA": str(data), "FRAMEKILN_ALLOW_UNCONFINED": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.splitlines()[-1] == "['blobs', 'pg']", done


def test_accounts_are_names_or_numbers() -> None:
    assert parse_account("12") == Account(12, 12)
    assert parse_account("12:34") == Account(12, 34)
    assert parse_account("root") == Account(0, 0)
    for text in ("no-such-user", "12:users", "-1", ""):
        with pytest.raises(UnknownAccount, match="FRAMEKILN_RUN_AS"):
            parse_account(text)


def test_only_root_chooses_an_account() -> None:
    if os.geteuid() == 0:
        assert service_account() == SERVICE
        assert service_account("12:34") == Account(12, 34)
    else:
        assert service_account() == Account(os.geteuid(), os.getegid())
        with pytest.raises(UnknownAccount, match="only root"):
            service_account(str(os.geteuid() + 1))
