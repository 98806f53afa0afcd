"""What each sandbox makes of a command."""

from pathlib import Path

import pytest

from framekiln.capture.browser_limits import BrowserLimits
from framekiln.capture.sandbox import Confinement, chromium_environment, confined_command

PROFILE = Path("/var/tmp/profile")
LIMITS = BrowserLimits(memory_mib=3000, processes=50, threads=500, disk_mib=100)
BUBBLEWRAP = [Confinement.NAMESPACES_AND_SECCOMP, Confinement.NAMESPACES]
BOTH_USERS = pytest.mark.parametrize("uid", [0, 1234], ids=["root", "ordinary user"])


def wrapped(confinement: Confinement) -> list[str]:
    return confined_command(
        ["chromium", "--flag"], confinement, profile=PROFILE, limits=LIMITS, filter_fd=9
    )


def test_chromium_keeps_its_own_sandbox_wherever_it_can() -> None:
    has_none = {confinement: "--no-sandbox" in wrapped(confinement) for confinement in Confinement}
    assert has_none == {
        Confinement.NAMESPACES_AND_SECCOMP: False,
        Confinement.NAMESPACES: True,
        Confinement.UNPRIVILEGED_USER: True,
    }


@BOTH_USERS
@pytest.mark.parametrize("confinement", BUBBLEWRAP)
def test_bubblewrap_shares_nothing_and_dies_with_us(
    confinement: Confinement, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    command = wrapped(confinement)
    assert {"--die-with-parent", "--new-session", "--clearenv"} <= set(command)
    assert "--unshare-all" in command or {
        f"--unshare-{name}" for name in ("ipc", "pid", "net", "uts")
    } <= set(command)
    assert "--share-net" not in command
    assert "--bind" not in command
    assert str(PROFILE) not in " ".join(command)
    assert command[command.index("--seccomp") + 1] == "9"
    assert command[command.index("chromium") + 1] == "--flag"


@BOTH_USERS
@pytest.mark.parametrize("confinement", Confinement)
def test_root_never_runs_chromium_as_root(
    confinement: Confinement, uid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: uid)
    changes_user = any(argument.startswith("--reuid=") for argument in wrapped(confinement))
    assert changes_user == (uid == 0)


def test_without_bubblewrap_it_runs_unprivileged() -> None:
    command = wrapped(Confinement.UNPRIVILEGED_USER)
    assert command[0] == "setpriv"
    assert {"--pdeathsig=KILL", "--no-new-privs"} <= set(command)
    assert command[-4:] == ["chromium", "--flag", "--no-sandbox", f"--user-data-dir={PROFILE}"]
    assert not Confinement.UNPRIVILEGED_USER.is_enough


@pytest.mark.parametrize("confinement", Confinement)
def test_the_kernel_enforces_the_limits(confinement: Confinement) -> None:
    command = wrapped(confinement)
    limits = command[command.index("prlimit") + 1 : command.index("chromium")]
    assert {"--core=0", f"--fsize={200 << 20}", f"--data={16 << 30}"} <= set(limits)
    assert {"--rtprio=0", "--nice=0"} <= set(limits)


@pytest.mark.parametrize("confinement", BUBBLEWRAP)
def test_every_writable_folder_has_a_size(confinement: Confinement) -> None:
    command = wrapped(confinement)
    folders = [i for i, argument in enumerate(command) if argument == "--tmpfs"]
    assert {command[i + 1] for i in folders} == {"/tmp", "/dev/shm", "/run"}
    assert all(command[i - 2] == "--size" for i in folders)
    assert command[command.index("/tmp") - 2] == str(200 << 20)
    read_only = {command[i + 1] for i, a in enumerate(command) if a == "--remount-ro"}
    assert read_only == {"/", "/dev"}


def test_the_environment_is_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "secret")
    assert sorted(chromium_environment(PROFILE)) == ["HOME", "LANG", "PATH"]
