"""The commands in the documents, and a shell that they are typed into."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.service import Account
from tests.support.timeouts import TIMEOUT_S

_BLOCK = re.compile(
    r"^(?P<indent> *)(?:<!-- not run: (?P<reason>[^\n]+) -->\n(?P=indent))?"
    r"```sh\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
_START = r"""set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
"""
REFUSALS_FAIL = 'curl() { command curl --fail-with-body "$@"; }\n'
"""Makes curl fail when a request is refused, as other commands do."""


@dataclass(frozen=True)
class ShellBlock:
    """A block of commands; `reason` says why a test does not run it."""

    text: str
    reason: str | None


def shell_blocks(page: Path) -> list[ShellBlock]:
    """Return the blocks of commands on a page."""
    return [
        ShellBlock(re.sub(f"^{found['indent']}", "", found["text"], flags=re.M), found["reason"])
        for found in _BLOCK.finditer(page.read_text("utf-8"))
    ]


def type_commands(script: str, account: Account, folder: Path) -> str:
    """Type commands into one shell; return what it printed."""
    script = script.replace("http://127.0.0.1:8080", account.url)
    # Each look is a process that imports a client: half a second of what the others wait for.
    script = script.replace("do sleep 1; done", "do sleep 4; done")
    typed = subprocess.run(
        ["bash", "-c", _START + script],
        cwd=folder,
        env={
            **os.environ,
            **account.environment,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT_S,
        check=False,
    )
    assert typed.returncode == 0, typed.stdout + typed.stderr + account.service.log_tail()
    return typed.stdout


def scale_clip(source: Path, target: Path, *, width_px: int, height_px: int) -> Path:
    """Write a smaller clip with the same frames and sound, almost without loss."""
    encoder = ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "10", "-c:a", "copy"]
    scale = ["-vf", f"scale={width_px}:{height_px}", *encoder]
    command = ["ffmpeg", "-v", "error", "-i", str(source), *scale, str(target)]
    subprocess.run(command, check=True)
    return target
