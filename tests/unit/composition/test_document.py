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
def test_a_complete_document_is_unchanged(html: str) -> None:
    assert as_document(html).text == html
    assert as_document(html).author_position(3, 14) == (3, 14)


@pytest.mark.parametrize("html", ["<!---->" * 100_000 + "x", "<!--" * 100_000, " " * 1_000_000])
def test_comments_before_a_piece_do_not_take_exponential_time(html: str) -> None:
    assert as_document(html).text.endswith(f"<body>{html}</body></html>")


def test_a_document_may_follow_many_comments() -> None:
    html = "<!-- a -->\n" * 1000 + "<!doctype html>"
    assert as_document(html).text == html


@pytest.mark.parametrize("html", PIECES)
def test_a_fragment_is_wrapped_without_margins(html: str) -> None:
    document = as_document(html).text
    assert document.startswith("<!doctype html><html>")
    assert document.endswith(f"<body>{html}</body></html>")
    assert "margin:0" in document


def test_a_long_comment_is_scanned_in_linear_time() -> None:
    html = "<!--" + "-" * 200_000 + "<p>"
    assert as_document(html).text.endswith(f"{html}</body></html>")


@pytest.mark.parametrize("html", ["a<script>x</script>", "<p>\n<script>\n  x", "😀 x", "\n\nx"])
def test_positions_in_a_fragment_refer_to_the_original_text(html: str) -> None:
    document = as_document(html)
    served = document.text.index(html) + html.index("x")
    assert document.author_position(*_place(document.text, served)) == _place(html, html.index("x"))


def test_inserted_scripts_do_not_shift_positions() -> None:
    html = "<!doctype html><html><head></head>\n<body>x"
    at = html.index("<head>") + len("<head>")
    document = as_document(html).with_inserted("<meta>\n<base>", at)
    assert document.text == "<!doctype html><html><head><meta>\n<base></head>\n<body>x"
    assert document.author_position(*_place(document.text, document.text.index("x"))) == (1, 6)
    assert document.author_position(0, 5) == (0, 5)
    assert document.author_position(1, 3) == _place(html, at)


def _place(text: str, at: int) -> tuple[int, int]:
    """Return the line and column of a character as browsers count them."""
    before = text[:at]
    last = before[before.rfind("\n") + 1 :]
    return before.count("\n"), len(last.encode("utf-16-le")) // 2
