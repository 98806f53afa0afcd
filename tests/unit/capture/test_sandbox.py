"""What each cage makes of a command."""

from pathlib import Path

import pytest

from framekiln.capture.sandbox import Confinement, confined_command

PROFILE = Path("/var/tmp/profile")


def wrapped(confinement: Confinement) -> list[str]:
    return confined_command(["chromium", "--flag"], confinement, profile=PROFILE)


def test_chromium_keeps_its_own_sandbox_wherever_it_can() -> None:
    has_none = {cage: "--no-sandbox" in wrapped(cage) for cage in Confinement}
    assert has_none == {
        Confinement.NAMESPACES_AND_SECCOMP: False,
        Confinement.NAMESPACES: True,
        Confinement.UNPRIVILEGED_USER: True,
    }


@pytest.mark.parametrize("cage", [Confinement.NAMESPACES_AND_SECCOMP, Confinement.NAMESPACES])
def test_bubblewrap_shares_nothing_and_dies_with_us(cage: Confinement) -> None:
    command = wrapped(cage)
    assert command[:4] == ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
    assert "--share-net" not in command
    assert "--bind" not in command
    assert str(PROFILE) not in " ".join(command)
    assert command[command.index("chromium") + 1] == "--flag"


def test_without_bubblewrap_it_runs_unprivileged() -> None:
    command = wrapped(Confinement.UNPRIVILEGED_USER)
    assert command[0] == "setpriv"
    assert "--pdeathsig=KILL" in command
    assert command[-4:] == ["chromium", "--flag", "--no-sandbox", f"--user-data-dir={PROFILE}"]
