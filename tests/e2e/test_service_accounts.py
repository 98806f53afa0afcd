"""As whom a running service works, and who can read what it keeps."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from framekiln.cli.doctor_accounts import check_modes, check_rights
from framekiln.cli.doctor_checks import CheckResult, CheckState
from framekiln.kit.account import DATABASE_ID, SERVICE_ID, account_name
from framekiln.settings import Settings
from tests.support.service import Service

NOBODY = 65534
PAGE = "<body style='background:#123456'>"


def status_of(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


def owner_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def succeeds_as(uid: int, *words: str) -> bool:
    become = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    return subprocess.run([*become, *words], capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="module")
def busy_service(shared_service: Service) -> Service:
    """The shared service after a render, with its Chromium still warm."""
    done = shared_service.wait_ended(
        shared_service.create_render(html=PAGE, width=64, height=64, duration_ms=200)
    )
    assert done["status"] == "complete", done
    return shared_service


def test_processes_that_read_untrusted_input_are_not_root(busy_service: Service) -> None:
    serve, *others = busy_service.process_tree()
    database = set(busy_service.find_processes("postgres"))
    is_root = os.geteuid() == 0
    assert busy_service.find_processes("--type=zygote"), "no Chromium was seen"
    for pid in others:
        try:
            status = status_of(pid)
        except OSError:
            continue  # it has ended
        if "State" in status and status["State"].startswith("Z"):
            continue
        expected = (DATABASE_ID if pid in database else SERVICE_ID) if is_root else os.geteuid()
        assert status["Uid"].split() == [str(expected)] * 4, status
    for words in ((" api",), ("worker", "--queues")):
        for pid in busy_service.find_processes("framekiln", *words):
            status = status_of(pid)
            assert int(status["CapEff"], 16) == 0
            assert (status["Umask"], status["NoNewPrivs"]) == ("0077", "1")
            assert not is_root or status["Groups"] == ""
    assert status_of(serve)["Umask"] == "0077"


def test_the_database_does_not_get_the_secrets_of_the_service(busy_service: Service) -> None:
    serve, *_ = busy_service.process_tree()
    assert b"FRAMEKILN_API_KEY=" in Path(f"/proc/{serve}/environ").read_bytes()
    servers = busy_service.find_processes("postgres")
    assert servers
    for pid in servers:
        assert b"FRAMEKILN_" not in Path(f"/proc/{pid}/environ").read_bytes().replace(
            b"FRAMEKILN_CHILD=", b""
        )


def test_stored_files_are_readable_by_the_service_accounts_only(busy_service: Service) -> None:
    folder = busy_service.data
    kept = list((folder / "blobs").rglob("*"))
    assert any(path.suffix == ".mp4" for path in kept)
    for path in (folder, folder / "pg", folder / "blobs", *kept):
        assert stat.S_IMODE(path.lstat().st_mode) & 0o067 == 0, path
    if os.geteuid() == 0:
        owners = {path.lstat().st_uid for path in (folder / "blobs", *kept)}
        assert owners == {SERVICE_ID}
        assert folder.stat().st_uid == (folder / "pg").stat().st_uid == 0
    else:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="not run by root, who alone can be somebody else")
def test_other_users_cannot_read_stored_files(busy_service: Service, tmp_path: Path) -> None:
    # The folders of pytest are closed anyway, so the test looks through an open door.
    film = next((busy_service.data / "blobs").rglob("*.mp4"))
    door = os.open(busy_service.data, os.O_PATH)
    os.set_inheritable(door, True)
    try:
        inside = f"/proc/{os.getpid()}/fd/{door}"
        relative = film.relative_to(busy_service.data)
        script = 'cd "$0" 2>/dev/null || exit 3; cat "$1" > /dev/null'
        for uid, expected in ((NOBODY, False), (DATABASE_ID, False)):
            assert succeeds_as(uid, "sh", "-c", script, inside, str(relative)) is expected
    finally:
        os.close(door)


async def test_doctor_reports_accounts_and_modes_correctly(busy_service: Service) -> None:
    port = int(busy_service.url.rpartition(":")[2])
    settings = Settings.model_validate({"port": port, "data": busy_service.data})
    found = {each.name: each for each in await check_rights(settings)}
    owners = {owner_of(pid) for pid in busy_service.find_processes("framekiln", "worker")}
    (uid,) = owners | {owner_of(busy_service.find_process("framekiln", " api"))}
    assert found["account"].detail == f"the service runs as {account_name(uid)}"
    modes = ((name, mode_of(busy_service.data / name)) for name in ("", "pg", "blobs"))
    expected = ", ".join(f"{name or busy_service.data.name} {mode:o}" for name, mode in modes)
    assert found["folder modes"] == CheckResult("folder modes", CheckState.OK, expected)
    assert found["database role"].detail == "framekiln_service, no superuser"
    ready = busy_service.http.get("/readyz").json()
    assert (found["confinement"].state is CheckState.OK) is ready["confined"]
    has_groups = found["control groups"].detail.startswith("each Chromium has one")
    assert has_groups is ready["control_groups"]


def test_doctor_reports_a_readable_data_folder(tmp_path: Path) -> None:
    (tmp_path / "blobs").mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    settings = Settings.model_validate({"data": tmp_path})
    found = check_modes(settings)
    assert (found.state, found.fix) == (CheckState.WARN, f"chmod o-rwx {tmp_path}")
