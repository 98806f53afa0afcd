"""NOTICE, the SBOM and the locks say what is really installed."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from scripts import inventory

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = sorted((ROOT / "requirements").glob("*.txt"))


def noticed() -> dict[str, str]:
    """The names in NOTICE with their licences."""
    text = (ROOT / "NOTICE").read_text("utf-8")
    return dict(re.findall(r"^([@\w./ -]+): (.+)$", text, re.MULTILINE))


def test_notice_names_every_installed_package_with_its_licence() -> None:
    said = noticed()
    for part in (*inventory.python_parts(), *inventory.npm_parts()):
        assert said.get(part.name) == part.licence, "make notice"


def test_the_studio_carries_the_licences_of_all_that_is_bundled() -> None:
    text = (ROOT / "src/framekiln/studio/static/NOTICE.txt").read_text("utf-8")
    bundled = dict(re.findall(r"^([@\w./-]+) [0-9.]+ \((.+)\)$", text, re.MULTILINE))
    assert {"preact", "hls.js", "@codemirror/state", "@lezer/lr"} <= set(bundled)
    known = {part.name: part.licence for part in inventory.npm_parts()}
    assert bundled.items() <= known.items()


def test_notice_is_what_the_script_writes_but_for_packages_of_other_systems() -> None:
    def lines(text: str) -> list[str]:
        optional = tuple(f"{name}: " for name in inventory.required_names())
        return [line for line in text.splitlines() if not line.startswith(optional)]

    text = (ROOT / "NOTICE").read_text("utf-8")
    assert lines(text) == lines(inventory.write_notice()), "make notice"


def test_every_library_inside_a_wheel_has_a_known_licence() -> None:
    bundled = inventory.bundled_libraries()
    assert {"x264", "x265"} <= bundled["av"]
    unknown = {
        package: names - inventory.LIBRARIES.keys()
        for package, names in bundled.items()
        if package in {name.replace("-", "_") for name in inventory.required_names()}
    }
    assert not any(unknown.values()), unknown


def test_the_sbom_names_packages_programs_and_bundled_libraries() -> None:
    sbom = json.loads(json.dumps(inventory.make_sbom()))
    assert (sbom["bomFormat"], sbom["specVersion"]) == ("CycloneDX", "1.6")
    names = [each["name"] for each in sbom["components"]]
    wanted = {"av", "fastapi", "lottie-web", "chromium", "ffmpeg", "ffmpeg (in av)", "x264"}
    assert wanted <= set(names)
    references = [each["bom-ref"] for each in sbom["components"]]
    assert len(set(references)) == len(references)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("libx264-fd5179c6.so.165", "x264"),
        ("libopenblasp-r0-e3ea6fd1.3.15.so", "openblasp"),
        ("libgfortran-daac5196-038a5e3c.so.5.0.0", "gfortran"),
        ("libpcre2-8-8701a61e.so.0.7.1", "pcre2-8"),
        ("libxcb-shm-1266c612.so.0.0.0", "xcb-shm"),
        ("libssl.so.3", "ssl"),
    ],
)
def test_library_names(file: str, name: str) -> None:
    assert inventory.library_name(file) == name


@pytest.mark.parametrize("file", REQUIREMENTS, ids=lambda file: file.name)
def test_everything_that_is_installed_is_pinned_with_hashes(file: Path) -> None:
    entries = re.split(r"\n(?=\S)", file.read_text("utf-8").replace("\\\n", ""))
    assert entries
    for entry in entries:
        assert re.match(r"[\w.\[\],-]+==\S+", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_dependencies_have_bounds_that_the_locked_versions_keep() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    locked: dict[str, list[str]] = {}
    text = (ROOT / "requirements" / "base.txt").read_text("utf-8")
    for name, version in re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE):
        locked.setdefault(name, []).append(version)
    for line in project["dependencies"]:
        requirement = Requirement(line)
        assert {each.operator for each in requirement.specifier} >= {">=", "<"}, line
        assert all(version in requirement.specifier for version in locked[requirement.name]), line
