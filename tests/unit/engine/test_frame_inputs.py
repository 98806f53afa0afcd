"""Which parts of a page's description count for which slices."""

from typing import Any

import pytest

from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.frame_inputs import FrameInputs

FIRST, SECOND = FilmSlice(0, 0, 10), FilmSlice(1, 10, 10)
PICTURE = "https://media.test/a%20b.png"


def part(frames: tuple[int, int] | None, **others: Any) -> dict[str, Any]:
    empty = {"hidden": "<p>", "shown": "", "inside": [], "addresses": [], "captions": []}
    return {**empty, "frames": frames, **others}


def inputs(*page: Any, **others: Any) -> FrameInputs:
    empty = {"obstacle": "", "styles": "", "functions": "", "addresses": [], "captionAddresses": []}
    return FrameInputs({**empty, "page": list(page), **others})


@pytest.mark.parametrize(
    ("frames", "counts"),
    [((0, 9), (True, False)), ((10, 10), (False, True)), ((9, 10), (True, True)),
     ((0, -1), (False, False)), (None, (True, True))],
    ids=str,
)  # fmt: skip
def test_the_inside_of_an_element_counts_where_it_is_shown(
    frames: tuple[int, int] | None, counts: tuple[bool, bool]
) -> None:
    one, other = (inputs(part(frames, inside=[text])) for text in ("one", "other" * 100))
    assert counts == tuple(one.digest(each) != other.digest(each) for each in (FIRST, SECOND))


def test_captions_count_with_what_they_show_in_a_slice() -> None:
    one, other = (
        inputs(part(None, captions=[[0, "a"], [5, "b"], [10, text]])) for text in ("c", "d")
    )
    assert one.digest(FIRST) == other.digest(FIRST)
    assert one.digest(SECOND) != other.digest(SECOND)


@pytest.mark.parametrize(
    ("others", "is_unused"),
    [
        ({}, True),
        ({"addresses": [PICTURE]}, False),
        ({"styles": "p { background: url('../a b.png') }"}, False),
        ({"functions": "background: url(a%20b.png)"}, False),
        ({"styles": r"p { background: url(\61 b) }"}, False),
    ],
    ids=["hidden only", "shown", "in a rule", "in an inline style", "escaped"],
)
def test_a_source_is_unused_if_only_hidden_elements_name_it(
    others: dict[str, Any], *, is_unused: bool
) -> None:
    page = inputs(part((0, 9), inside=[part((0, 9), addresses=[PICTURE])]), **others)
    assert page.digest(FIRST)[1] == frozenset()
    assert page.digest(SECOND)[1] == ({PICTURE} if is_unused else frozenset())
