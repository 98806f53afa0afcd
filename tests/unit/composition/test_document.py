"""A composition may be a document or a piece of one."""

import pytest

from framekiln.composition.document import as_document

DOCUMENTS = [
    "<!doctype html><p>x",
    "<!DOCTYPE HTML>",
    "  \n\t<!doctype  html>",
    "<html lang=en></html>",
    "<HTML>",
    "<!-- made by hand --><!doctype html>",
    "<!-- a -->\n<!-- b > -->\n<html>",
]
PIECES = [
    "<p>x",
    "",
    "text <html>",
    "<htmlish>",
    "<!-- <html> -->",
    "<head></head>",
    "<!doctypehtml>",
]


@pytest.mark.parametrize("html", DOCUMENTS)
def test_a_document_stays_as_it_is(html: str) -> None:
    assert as_document(html) == html


@pytest.mark.parametrize("html", PIECES)
def test_a_piece_gets_a_document_without_margins(html: str) -> None:
    document = as_document(html)
    assert document.startswith("<!doctype html><html>")
    assert document.endswith(f"<body>{html}</body></html>")
    assert "margin:0" in document


def test_a_long_comment_costs_no_time() -> None:
    html = "<!--" + "-" * 200_000 + "<p>"
    assert as_document(html).endswith(f"{html}</body></html>")
