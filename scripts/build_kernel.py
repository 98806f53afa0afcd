"""Compiles `src/framekiln/pixels/kernel.c` into the library beside it.

Run by hand (`python scripts/build_kernel.py`), by `make setup`, and by `build_hook.py` when a wheel
is made. Without a C compiler nothing is built, and pictures are converted in numpy: the same bytes,
more slowly.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "src" / "framekiln" / "pixels"
SOURCE = FOLDER / "kernel.c"
LIBRARY = FOLDER / "libkernel.so.1"
# Nothing of libc is used, so neither its headers nor any version of it is needed. Processors with
# fused multiplication would round differently.
FLAGS = (
    *("-std=gnu11", "-O3", "-ffreestanding", "-fvisibility=hidden", "-Wall", "-Wextra"),
    *("-fPIC", "-shared", "-nostdlib", "-ffp-contract=off"),
)


def build() -> bool:
    """Bring the library up to date; tell whether there is one."""
    if LIBRARY.exists() and LIBRARY.stat().st_mtime >= SOURCE.stat().st_mtime:
        return True
    compiler = find_compiler()
    if compiler is None:
        print(
            "no C compiler: pictures will be converted in numpy, which is slower; "
            "install gcc and run `make setup` again",
            file=sys.stderr,
        )
        return LIBRARY.exists()
    # Renamed into place: a process may use the library that is there.
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        made = Path(folder) / LIBRARY.name
        subprocess.run([*compiler, *FLAGS, str(SOURCE), "-o", str(made), "-lgcc"], check=True)
        made.replace(LIBRARY)
    return True


def find_compiler() -> list[str] | None:
    """Return the compiler that `CC` names, else the machine's."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        return named
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    return [found] if found else None


if __name__ == "__main__":
    build()
