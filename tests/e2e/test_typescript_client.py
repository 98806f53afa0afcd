"""The packed TypeScript client against a running service, in Node."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from tests.support.service import Account
from tests.support.timeouts import TIMEOUT_S

PROGRAM = Path(__file__).with_name("typescript_client.ts")
PACKAGE = Path(__file__).parents[2] / "clients" / "typescript"
BIN = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project of a user that has the package as `make client-typescript` packs it."""
    built = tmp_path / "built"
    built.mkdir()
    for name in ("package.json", "README.md"):
        shutil.copy(PACKAGE / name, built)
    compiler = PACKAGE / "node_modules" / "typescript" / "bin" / "tsc"
    # `make check-client` has checked the types, which takes as long as everything else.
    options = ("--project", "tsconfig.build.json", "--noCheck", "--outDir", built / "dist")
    _run(BIN / "node", compiler, *options)
    _run(BIN / "npm", "pack", "--silent", built, "--pack-destination", tmp_path)
    [packed] = tmp_path.glob("framekiln-*.tgz")
    home = tmp_path / "project" / "node_modules" / "framekiln"
    with tarfile.open(packed) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    shutil.copytree(tmp_path / "unpacked" / "package", home)
    shutil.copy(PROGRAM, tmp_path / "project" / "program.mts")
    return tmp_path / "project"


def _run(*command: str | Path) -> None:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        command,
        cwd=PACKAGE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_program_renders_uploads_and_lists(account: Account, project: Path) -> None:
    result = subprocess.run(
        [BIN / "node", "--disable-warning=ExperimentalWarning", project / "program.mts"],
        env={**os.environ, **account.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert seen["status"] == "complete"
    assert len(set(seen["byte_size"])) == 1
    assert (seen["last_fraction"], seen["found"]) == (1, True)
    assert seen["versions"] == ["Welcome", "Greeting"]
    assert seen["bulk"] == ["complete", 2]
    assert seen["run"] == ["succeeded", 1]
    assert seen["missing"] == "video_not_found"
    assert seen["organization"]
