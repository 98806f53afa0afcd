"""What the text of a page says about its size."""

import pytest

from framekiln.composition.likely_size import LikelySize, likely_size

GROUP = "<ef-timegroup mode='fixed' %s><ef-timegroup style='width: 9px; height: 9px'>"


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('style="width: 320px; height: 180px"', (320, 180)),
        ("style='background:#124;height:180px;width:320px'", (320, 180)),
        ('class="bg-black w-[1080px] h-[1920px] flex"', (1080, 1920)),
        ('class="w-[1080px] h-[1920px]" style="width: 640px"', (640, 1920)),
        ('STYLE = "width: 320px"', (320, None)),
        ('style="min-width: 320px; line-height: 20px; width: 50%; height: 1.5px"', (None, None)),
        ('class="md:w-[640px] max-h-[20px]" data-style="width: 5px"', (None, None)),
        ('style="width: 0px"', (None, None)),
        ("", (None, None)),
    ],
)
def test_the_style_and_classes_of_the_outermost_group_count(
    attributes: str, size: tuple[int | None, int | None]
) -> None:
    assert likely_size(GROUP % attributes) == LikelySize(*size)


def test_rules_of_its_id_and_classes_count() -> None:
    style = """<style>.film { width: 50px; height: 60px } .film p { width: 1px }
      .other{width:2px} i > #stage { height: 70px } #stage { color: red; width: 80px; }</style>"""
    group = "<ef-timegroup id=stage class='film wide'%s>"
    assert likely_size(style + group % "") == LikelySize(80, 70)
    assert likely_size(style + group % " style='width: 90px'") == LikelySize(90, 70)
    assert likely_size(style + "<ef-timegroup class=film>") == LikelySize(50, 60)


def test_the_data_of_a_page_without_groups_counts() -> None:
    html = '<!doctype html><html lang=en data-width=640><body class=a data-height="360">'
    assert likely_size(html) == LikelySize(640, 360)
    assert likely_size("<!doctype html><html data-width='100%'><p data-height=9>") == LikelySize()
    assert likely_size(html + GROUP % "") == LikelySize()


@pytest.mark.parametrize(
    "rest",
    [
        "<style>@media (width < 400px) { ef-timegroup { width: 200px } }</style>",
        "<style>ef-timegroup { width: 50vw !important }</style>",
        "<script>if (innerWidth > 999) root.style.width = '999px'</script>",
        "<script>matchMedia('(orientation: portrait)')</script>",
    ],
)
def test_nothing_is_likely_where_something_depends_on_the_window(rest: str) -> None:
    assert likely_size(GROUP % 'style="width: 320px; height: 180px"' + rest) == LikelySize()


def test_long_texts_are_read_in_linear_time() -> None:
    for piece in (
        "<ef-timegroup ",
        "<html ",
        "style=",
        "width:",
        " " * 9,
        "a='",
        "#a",
        ".a {",
        ";",
    ):
        assert likely_size(piece * (1_000_000 // len(piece))) == LikelySize()
    assert likely_size(GROUP % 'style="width: 9px"' + " " * 1_000_000) == LikelySize()
