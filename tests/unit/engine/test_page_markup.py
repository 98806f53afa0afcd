"""Markup is inserted into the head of a document, however the document is written."""

import pytest

from framekiln.composition.layers.values import HtmlPage
from framekiln.engine.layers.page_markup import html_document

META = '<meta name="framekiln-tailwind" content="off">'


def inserted(document: str) -> str:
    """Return the text before our markup."""
    return html_document(HtmlPage(None, None, document), None).text.partition(META)[0]


@pytest.mark.parametrize(
    ("document", "before"),
    [
        ("<!doctype html><html><head a='<'><p>", "<!doctype html><html><head a='<'>"),
        ("<!doctype html><html lang=en><p>", "<!doctype html><html lang=en>"),
        ("<!doctype html><p>", "<!doctype html>"),
        ("<!doctype html><header>", "<!doctype html>"),
        ("<html>", "<html>"),
    ],
)
def test_the_place_in_the_document(document: str, before: str) -> None:
    assert inserted(document) == before


def test_tags_that_never_end_do_not_take_quadratic_time() -> None:
    # At half a million tags, a search for the end of each would take hours.
    start = "<!doctype html>"
    assert inserted(start + "<head " * 500_000 + "<!doctype" * 500_000) == start
