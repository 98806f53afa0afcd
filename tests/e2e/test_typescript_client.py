"""The TypeScript client against a running service, in Node."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.support.service import Account
from tests.support.timeouts import TIMEOUT_S

PROGRAM = Path(__file__).with_name("typescript_client.ts")


def test_a_program_renders_uploads_and_lists(account: Account) -> None:
    node = Path(sys.executable).with_name("node")
    result = subprocess.run(
        [node, "--disable-warning=ExperimentalWarning", PROGRAM],
        env={**os.environ, **account.environment},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout)
    assert seen["status"] == "complete"
    assert seen["byte_size"][0] == seen["byte_size"][1]
    assert (seen["last_fraction"], seen["found"]) == (1, True)
    assert seen["missing"] == "video_not_found"
    assert seen["organization"]
