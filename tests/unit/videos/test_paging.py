"""Pages count from 1, and an empty list has one too."""

from framekiln.videos.paging import AskedPage, Page


def test_a_page_in_the_middle() -> None:
    page = Page(["d", "e", "f"], AskedPage(2, 3), 8)
    assert (page.first_item, page.last_item, page.last_page) == (4, 6, 3)
    assert page.asked.skipped == 3


def test_no_items() -> None:
    page: Page[str] = Page([], AskedPage(), 0)
    assert (page.first_item, page.last_item, page.last_page) == (None, None, 1)


def test_a_list_that_fills_its_pages() -> None:
    assert Page(["x"] * 5, AskedPage(2, 5), 10).last_page == 2
