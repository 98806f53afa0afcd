"""What can be rendered from the command line: pages, folders, bundles, and their data."""

import io
import json
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from framekiln.cli.compositions import read_composition
from framekiln.cli.film_request import read_data
from framekiln.engine.assets import NoAssets
from framekiln.engine.page.external_runtime import contains_runtime
from framekiln.engine.site import SiteAssets
from framekiln.kit.errors import FramekilnError, InvalidInput, TooLarge

PAGE = "<!doctype html><p>hello"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "assets" / "a.txt").write_text("beside")
    (tmp_path / "secret.txt").write_text("outside")
    return folder


def pack_zip(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return path


def pack_tar(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return path


FILES = {"index.html": PAGE, "assets/a.txt": "beside"}


@pytest.mark.parametrize("kind", ["page", "folder", "tar", "zip"])
def test_a_page_a_folder_and_bundles_have_the_same_files_beside_them(
    site: Path, tmp_path: Path, kind: str
) -> None:
    named = {
        "page": lambda: site / "index.html",
        "folder": lambda: site,
        # Recognized by their content: a bundle may have any name.
        "tar": lambda: pack_tar(tmp_path / "site.bundle", FILES),
        "zip": lambda: pack_zip(tmp_path / "site.zip", FILES),
    }[kind]()
    found = read_composition(named, scratch=tmp_path)
    assert found.html == PAGE
    assert found.site is not None
    for address in ("/assets/a.txt", "/assets/./a.txt"):
        beside = found.site.locate(address)
        assert beside is not None
        assert beside.read_text() == "beside"


def test_nothing_outside_the_folder_is_served_not_even_by_a_link(
    site: Path, tmp_path: Path
) -> None:
    (site / "out.txt").symlink_to(tmp_path / "secret.txt")
    (site / "up").symlink_to(tmp_path)
    (site / "in.txt").symlink_to("assets/a.txt")
    (site / ".env").write_text("hidden")
    (site / "env.txt").symlink_to(".env")
    found = read_composition(site / "index.html", scratch=tmp_path)
    assert found.site is not None
    for address in ("/out.txt", "/up/secret.txt", "/../secret.txt", "/%2e%2e/secret.txt"):
        assert found.site.find(address) is None
    for address in ("/.env", "/%2eenv", "/env.txt"):
        assert found.site.find(address) is None
    assert found.site.find("/in.txt") is not None
    with pytest.raises(InvalidInput, match=f"{site} has no file /gone.mp4"):
        SiteAssets(found.site, NoAssets()).fetch("http://127.0.0.1/gone.mp4")


def test_a_folder_without_a_page_says_what_is_missing(site: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"has no index\.html: name the page, or a folder"):
        read_composition(site / "assets", scratch=tmp_path)


def test_only_scripts_that_the_page_names_count(site: Path, tmp_path: Path) -> None:
    """A page may lie in a folder of a thousand others."""
    (site / "other.js").write_text("window.FRAMEGEN_BRIDGE")
    (site / "assets" / "app.js").write_text(
        'import("./part.mjs?v=1"); const deps = ["assets/b.js"]'
    )
    (site / "assets" / "part.mjs").write_text("import './app.js'")
    (site / "index.html").write_text('<script type="module" src="/assets/app.js"></script>')

    def has_own_runtime() -> bool:
        found = read_composition(site, scratch=tmp_path)
        assert found.site is not None
        return contains_runtime((found.html.encode(), *found.site.scripts()))

    assert not has_own_runtime()
    (site / "assets" / "b.js").write_text("window.FRAMEGEN_BRIDGE")
    assert has_own_runtime()


def linked(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("index.html", PAGE)
        entry = zipfile.ZipInfo("out.txt")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(entry, "/etc/passwd")
    return path


def broken(path: Path) -> Path:
    pack_zip(path, FILES)
    path.write_bytes(path.read_bytes()[:60])
    return path


def nameless(path: Path) -> Path:
    pack_zip(path, {**FILES, "gone.html": PAGE})
    # In the list at the end, the name of the last entry begins with a zero byte.
    before, name, after = path.read_bytes().rpartition(b"gone.html")
    path.write_bytes(before + b"\0" + name[1:] + after)
    return path


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        pytest.param(nameless, "has no name", marks=pytest.mark.fuzz_find),
        (lambda path: pack_zip(path, {"../index.html": PAGE}), "leads out of the bundle"),
        (lambda path: pack_zip(path, {"/index.html": PAGE}), "leads out of the bundle"),
        (lambda path: pack_zip(path, {"site/index.html": PAGE}), "no index.html at its root"),
        (linked, "is neither a file nor a folder"),
        (broken, "is not a readable ZIP"),
    ],
)
def test_invalid_zip_bundles_are_refused(
    tmp_path: Path, made: Callable[[Path], Path], reason: str
) -> None:
    with pytest.raises(FramekilnError, match=reason):
        read_composition(made(tmp_path / "site.zip"), scratch=tmp_path)
    assert not (tmp_path / "index.html").exists()


def test_data_comes_from_the_option_or_a_file_in_its_own_order(tmp_path: Path) -> None:
    value = {"z": 1, "a": ["é", None, {"__proto__": 2.5}]}
    (tmp_path / "data.json").write_text(json.dumps(value))
    assert read_data(None, None) is None
    for text in (read_data(json.dumps(value), None), read_data(None, tmp_path / "data.json")):
        assert text == '{"z":1,"a":["é",null,{"__proto__":2.5}]}'


def deep(levels: int) -> str:
    return '{"a":' + "[" * (levels - 1) + "]" * (levels - 1) + "}"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("[1]", InvalidInput, "--data needs a JSON object"),
        ("{a: 1}", InvalidInput, "--data needs a JSON object, such as .* but is not JSON: "),
        ('{"a": NaN}', InvalidInput, "data is not JSON"),
        ('{"a": "\\ud800"}', InvalidInput, "data is not JSON"),
        (deep(65), InvalidInput, "data is nested deeper than 64 levels"),
        ("[" * 100_000, InvalidInput, "--data needs a JSON object, such as .* but is not JSON: "),
        ('{"a": "' + "x" * (1 << 20) + '"}', TooLarge, "data is larger than 1048576 bytes"),
    ],
    ids=["array", "no json", "no number", "half a character", "deep", "deeper", "large"],
)
def test_data_that_cannot_be_used_is_refused(
    text: str, kind: type[FramekilnError], reason: str
) -> None:
    with pytest.raises(kind, match=reason):
        read_data(text, None)


def test_data_may_be_as_deep_and_large_as_the_limits_say() -> None:
    assert read_data(deep(63), None) is not None
    assert read_data('{"a":"' + "x" * ((1 << 20) - 8) + '"}', None) is not None


def test_data_may_be_given_only_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be combined"):
        read_data("{}", tmp_path / "data.json")
