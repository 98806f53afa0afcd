"""The contracts on imports name everything that they are about."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
SRC = ROOT / "src"
PACKAGE = SRC / "framekiln"


def contracts() -> list[dict[str, Any]]:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    found: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return found


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts)


def test_every_store_is_protected() -> None:
    files = [*PACKAGE.rglob("store.py"), *PACKAGE.rglob("*_store.py"), *PACKAGE.rglob("stores")]
    stores = {module_name(path) for path in files} - {"framekiln.storage.blob_store"}
    protected = {
        name
        for contract in contracts()
        if contract["id"].endswith("-stores")
        for name in contract["protected_modules"]
    }
    assert stores == protected


def test_the_client_may_import_no_package_of_the_service() -> None:
    packages = {module_name(path) for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    (contract,) = (each for each in contracts() if each["id"] == "client-apart")
    above = {"framekiln.api", "framekiln.cli", "framekiln.worker"}
    free = packages - set(contract["forbidden_modules"]) - above - {"framekiln.client"}
    assert free == {"framekiln.kit", "framekiln.media", "framekiln.pixels"}
