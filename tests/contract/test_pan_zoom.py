"""ef-pan-zoom in a real page: what `auto-fit` shows of its content."""

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from tests.support.compositions import load_composition

RED, WHITE = (255, 0, 0), (255, 255, 255)


def page(content: str, attributes: str = "auto-fit", *, style: str = "") -> str:
    return (
        '<ef-timegroup id="root" duration="1s" style="width:320px;height:240px;background:#fff">'
        f'<ef-pan-zoom id="zoom" {attributes} style="width:100%;height:100%;{style}">{content}'
        "</ef-pan-zoom></ef-timegroup>"
    )


def box(width: int, height: int, more: str = "") -> str:
    return f'<div style="width:{width}px;height:{height}px;background:#f00;{more}"></div>'


def red_part(picture: np.ndarray) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of what is red; all else must be white."""
    red = (picture == RED).all(axis=2)
    assert (red | (picture == WHITE).all(axis=2)).all()
    rows, columns = np.flatnonzero(red.any(axis=1)), np.flatnonzero(red.any(axis=0))
    assert red.sum() == len(rows) * len(columns)
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


SMALL = box(40, 60, "position:absolute;left:-10px;top:500px")
DRAWING = (
    '<svg width="640" height="240" style="display:block">'
    '<path d="M0 0h640v240H0z" fill="#f00"/></svg>'
)
FITS = {
    "larger": (page(box(640, 240)), (0, 60, 320, 180)),
    "smaller, and not at the corner": (page(SMALL), (80, 0, 240, 240)),
    "as large as the box": (page(box(320, 240)), (0, 0, 320, 240)),
    "several": (page(box(320, 240) + box(320, 240)), (80, 0, 240, 240)),
    "in a wrapper without a box": (
        page(f"<ef-configuration>{box(640, 240)}</ef-configuration>"),
        (0, 60, 320, 180),
    ),
    "a drawing": (page(DRAWING), (0, 60, 320, 180)),
    "a box with padding": (
        page(box(640, 320), style="box-sizing:border-box;padding:40px 0"),
        (0, 40, 320, 200),
    ),
    "moved by a transform": (page(box(320, 240, "transform:scale(.5)")), (80, 60, 240, 180)),
    "a written scale": (page(box(640, 240), 'auto-fit scale="0.25"'), (80, 90, 240, 150)),
    "a written place": (page(box(640, 240), 'autofit y="0"'), (0, 0, 320, 120)),
    "switched off": (page(box(160, 120), 'auto-fit="false"'), (0, 0, 160, 120)),
}


@pytest.mark.parametrize(("html", "expected"), FITS.values(), ids=FITS)
def test_auto_fit_shows_all_of_the_content(
    browser: Browser, html: str, expected: tuple[int, int, int, int]
) -> None:
    with load_composition(browser, html) as film:
        assert red_part(film.frame(0)) == expected
        assert red_part(film.frame(1)) == expected


def test_auto_fit_applies_to_a_page_without_timing(browser: Browser) -> None:
    html = (
        '<body data-duration-ms="1000" style="margin:0;background:#fff">'
        f'<ef-pan-zoom auto-fit style="width:320px;height:240px">{box(640, 240)}</ef-pan-zoom>'
    )
    with load_composition(browser, html) as film:
        assert red_part(film.frame(0)) == (0, 60, 320, 180)


CHANGES = {
    "a frame task": "root.addFrameTask(({ currentTimeMs }) => { if (currentTimeMs > 0) change() })",
    "a callback": "requestAnimationFrame(() => requestAnimationFrame(() => change()))",
}


@pytest.mark.parametrize("when", CHANGES.values(), ids=CHANGES)
def test_auto_fit_follows_content_in_the_same_frame(browser: Browser, when: str) -> None:
    script = f"<script>const change = () => {{ inside.style.width = '320px' }};{when}</script>"
    html = page(box(640, 240).replace("<div", '<div id="inside"')) + script
    with load_composition(browser, html) as film:
        assert red_part(film.frame(0)) == (0, 60, 320, 180)
        assert red_part(film.frame(1)) == (0, 0, 320, 240)


def test_auto_fit_follows_changing_scenes(browser: Browser) -> None:
    scenes = "".join(
        f'<ef-timegroup duration="500ms" style="width:{width}px;height:240px;background:#f00">'
        "</ef-timegroup>"
        for width in (640, 160)
    )
    html = page(f'<ef-timegroup mode="sequence" style="display:contents">{scenes}</ef-timegroup>')
    with load_composition(browser, html) as film:
        assert red_part(film.frame(0)) == (0, 60, 320, 180)
        assert red_part(film.frame(20)) == (80, 0, 240, 240)
    # Any frame can be shown without those before it.
    with load_composition(browser, html) as film:
        assert red_part(film.frame(20)) == (80, 0, 240, 240)
