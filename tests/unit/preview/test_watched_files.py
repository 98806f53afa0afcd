"""The files of a composition are noted when it asks for them, and looked at for changes."""

from pathlib import Path

from framekiln.engine.site import PageFolder, Site
from framekiln.preview.watched_files import WatchedFiles


def test_a_file_that_was_not_asked_for_is_not_watched(tmp_path: Path) -> None:
    files = WatchedFiles()
    site = files.watched(PageFolder(tmp_path, "<p>"))
    (tmp_path / "a.css").write_text("a")
    assert site.locate("/a.css") == (tmp_path / "a.css").resolve()
    (tmp_path / "other.css").write_text("b")
    assert not files.has_changed()
    (tmp_path / "a.css").write_text("longer")
    assert files.has_changed()
    assert not files.has_changed()


def test_a_missing_file_is_noticed_when_it_comes(tmp_path: Path) -> None:
    files = WatchedFiles()
    assert files.watched(PageFolder(tmp_path, "")).locate("/late.js") is None
    assert not files.has_changed()
    (tmp_path / "late.js").write_text("1")
    assert files.has_changed()


def test_deleting_a_file_is_a_change(tmp_path: Path) -> None:
    files = WatchedFiles()
    page = tmp_path / "index.html"
    page.write_text("<p>")
    files.add(page)
    page.unlink()
    assert files.has_changed()


def test_nothing_outside_the_folder_and_nothing_hidden_is_watched(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    files = WatchedFiles()
    site = files.watched(PageFolder(inside, ""))
    for path in ("/../secret.txt", "/.env", "/a/../../secret.txt", "/%00"):
        assert site.locate(path) is None
    (tmp_path / "secret.txt").write_text("s")
    (inside / ".env").write_text("s")
    assert not files.has_changed()


def test_the_number_of_watched_files_is_limited(tmp_path: Path) -> None:
    files = WatchedFiles(max_files=1)
    for name in ("a", "b"):
        files.add(tmp_path / name)
    (tmp_path / "b").write_text("1")
    assert not files.has_changed()
    (tmp_path / "a").write_text("1")
    assert files.has_changed()


def test_an_unpacked_bundle_stays_as_it_is(tmp_path: Path) -> None:
    site = Site(tmp_path)
    assert WatchedFiles().watched(site) is site
