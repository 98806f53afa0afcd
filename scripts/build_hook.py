"""What hatchling calls when a wheel is made: builds the TypeScript and the native kernel."""

import platform
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent))

import build_kernel
import build_typescript


class BuildHook(BuildHookInterface[Any]):
    """Lets `hatch build` and `pip wheel` carry what git does not know."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build before files are collected."""
        build_typescript.build()
        if build_kernel.build():
            build_data["pure_python"] = False
            # The kernel needs no other library, so any libc will do that Python packages support.
            build_data["tag"] = f"py3-none-manylinux_2_17_{platform.machine()}"
