"""Pages count from 1, and an empty list has one too."""

from framekiln.videos.pagination import ListPage, PageNumberRequest


def test_a_page_in_the_middle_has_item_numbers() -> None:
    page = ListPage(["d", "e", "f"], PageNumberRequest(2, 3), 8)
    assert (page.first_item, page.last_item, page.last_page) == (4, 6, 3)
    assert page.request.offset == 3


def test_an_empty_list_has_one_page() -> None:
    page: ListPage[str] = ListPage([], PageNumberRequest(), 0)
    assert (page.first_item, page.last_item, page.last_page) == (None, None, 1)


def test_a_full_last_page_adds_no_page() -> None:
    assert ListPage(["x"] * 5, PageNumberRequest(2, 5), 10).last_page == 2
