"""The walk with Tab finds what people cannot reach, and no fault of a page that still loads."""

from collections.abc import Iterator

import pytest

from tests.support.browser_tab import open_tab
from tests.support.studio_tab import StudioTab
from tests.support.tab_walk import keyboard_problems

PAGE = "data:text/html,<!doctype html><body><button>One</button><button>Two</button>"
# Above what has the focus, as soon as it has it.
LATE_TEXT = """
(() => {
  const late = document.createElement("p");
  late.style.height = "3000px";
  const [, two] = document.querySelectorAll("button");
  two.addEventListener("focus", () => document.body.prepend(late), { once: true });
})()
"""

# When the focus has passed it by.
LATE_BUTTON = """
(() => {
  const [one, two] = document.querySelectorAll("button");
  one.disabled = true;
  two.addEventListener("focus", () => { one.disabled = false }, { once: true });
  one.addEventListener("focus", () => { window.__reached = true });
})()
"""


@pytest.fixture(scope="module")
def page() -> Iterator[StudioTab]:
    with open_tab() as tab:
        page = StudioTab(tab, "")
        page.show_as()
        yield page


def test_text_that_comes_late_is_no_problem_of_the_focus(page: StudioTab) -> None:
    page.open(PAGE)
    page.run(LATE_TEXT)
    assert keyboard_problems(page) == []
    assert page.run("document.querySelectorAll('p').length") == 1


def test_a_button_that_is_enabled_behind_the_focus_is_reached(page: StudioTab) -> None:
    page.open(PAGE)
    page.run(LATE_BUTTON)
    assert keyboard_problems(page) == []
    assert page.run("__reached")


def test_a_button_that_is_never_reached_is_found(page: StudioTab) -> None:
    page.open(f"{PAGE}<button tabindex=-1>Three</button>")
    [problem] = keyboard_problems(page)
    assert problem.startswith("is never reached: <button tabindex")
