"""Layers against pages: what is drawn, tinted or led in and out. Texts, shapes, filters, presets.

Where CSS has no such thing, fitting a text to its box, the page has a few lines of script.
"""

from typing import Any

import pytest

from framekiln.capture.browser import Browser
from tests.support.layer_oracle import (
    FPS,
    LOGO,
    Oracle,
    OracleCase,
    at,
    image,
    keyframes,
    oracle_media,
    text,
)
from tests.support.local_assets import LocalAssets

LONG = "Some words that are too many for a box as small as this one is"
BOX = {"size": {"width": 200, "height": 120}, "position": {"x": 40, "y": 50}}
BOX_CSS = "position:absolute;left:40px;top:50px;width:200px;height:120px;"


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return oracle_media(tmp_path_factory.mktemp("media"))


def words(style: str, content: str) -> str:
    return f'<div class="t" style="{style}">{content}</div>'


def fitted(content: str, *, largest_px: float, style: str = "") -> str:
    """Words as large as their box and its padding allow, found by trying quarters of a pixel."""
    # Only what may be scrolled has its lower padding in `scrollHeight`.
    return (
        f'<div class="t" id="fit" style="{BOX_CSS}overflow:hidden;{style}">{content}</div><script>'
        "const box = document.getElementById('fit');"
        f"for (let px = {largest_px}; px > 1; px -= 0.25) {{ box.style.fontSize = px + 'px';"
        "if (box.scrollHeight <= box.clientHeight && box.scrollWidth <= box.clientWidth) break; }"
        "</script>"
    )


def shape(kind: str, box: tuple[float, float, float, float], **more: Any) -> dict[str, Any]:
    left, top, width, height = box
    return {
        "type": "shape",
        "shape": {"kind": kind, **more.pop("look", {})},
        "size": {"width": width, "height": height},
        "position": {"x": left, "y": top, **more.pop("position", {})},
        **more,
    }


def rect(box: tuple[float, float, float, float], style: str) -> str:
    left, top, width, height = box
    place = f"left:{left}px;top:{top}px;width:{width}px;height:{height}px"
    return f'<div style="position:absolute;{place};{style}"></div>'


def tinted(name: str, **options: Any) -> list[dict[str, Any]]:
    return [image(), {"type": "filter", "filter": {"name": name, "options": options}}]


def below(css: str) -> str:
    return (
        f'<div style="position:absolute;inset:0;background:#204060;filter:{css}">{at(0, 0)}</div>'
    )


def covered(colour: str, share: float) -> str:
    return at(0, 0) + rect((0, 0, 320, 240), f"background:{colour};opacity:{share}")


def preset(name: str, **options: Any) -> list[dict[str, Any]]:
    return [{"type": name, "options": {"duration": 1, **options}}]


def gone(number: int) -> float:
    """How far a transition of one second is."""
    return min(1.0, number / FPS)


SMALL: dict[str, Any] = {"size": {"width": 150}, "position": {"x": 90, "y": 70}}
SMALL_CSS = "width:150px;"


TEXTS = {
    "shrinks to fit": OracleCase(
        [text(LONG, fontSize=60, fit="shrink", backgroundColor="#aa0022", place=BOX)],
        fitted(LONG, largest_px=60, style="background:#a02"),
    ),
    "grows to fit": OracleCase(
        [text("Hi you", fontSize=10, fit="grow", backgroundColor="#aa0022", place=BOX)],
        fitted("Hi you", largest_px=120, style="background:#a02"),
    ),
    "shrinks to two lines": OracleCase(
        [text(LONG, fontSize=60, fit="shrink", maxLines=2, place=BOX)],
        fitted(LONG, largest_px=60, style="height:calc(2.4em + 32px)"),
    ),
    "two lines at most": OracleCase(
        [text(LONG, fontSize=24, maxLines=2, ellipsis=True, place=BOX)],
        f'<div style="{BOX_CSS}padding:16px"><div class="t" style="padding:0;width:auto;'
        "font-size:24px;display:-webkit-box;-webkit-box-orient:vertical;overflow:hidden;"
        f'-webkit-line-clamp:2">{LONG}</div></div>',
    ),
    "utility classes over fields": OracleCase(
        [
            text(
                "centred",
                fontSize=30,
                backgroundColor="#aa0022",
                tailwind="text-center bg-[#ffcc00] rounded-[30px]",
                place=BOX,
            )
        ],
        words(
            f"{BOX_CSS}font-size:30px;text-align:center;background:#fc0;border-radius:30px",
            "centred",
        ),
    ),
    "one long word": OracleCase(
        [text("Unpronounceable", fontSize=40, maxLines=1, ellipsis=True, place=BOX)],
        f'<div style="{BOX_CSS}padding:16px"><div class="t" style="padding:0;width:auto;'
        'font-size:40px;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">'
        "Unpronounceable</div></div>",
    ),
    "more lines than its box has room for": OracleCase(
        [text(LONG, fontSize=32, maxLines=5, place=BOX)],
        words(f"{BOX_CSS}font-size:32px", LONG),
    ),
    "in a corner of its box": OracleCase(
        [
            text(
                "down here",
                fontSize=28,
                backgroundColor="#aa0022",
                textPosition={"x": "right", "y": "bottom"},
                place=BOX,
            )
        ],
        f'<div class="t" style="{BOX_CSS}background:#a02;font-size:28px;display:flex;'
        'align-items:end;justify-content:end">down here</div>',
    ),
    "spaced, slanted, underlined": OracleCase(
        [
            text(
                "Wide words",
                fontFamily="Liberation Serif",
                fontSize=36,
                fontStyle="italic",
                letterSpacing=5,
                textDecoration="underline",
            )
        ],
        words(
            "font:italic 36px/1.2 'Liberation Serif';letter-spacing:5px;text-decoration:underline",
            "Wide words",
        ),
    ),
    "capitals and lines": OracleCase(
        [
            {
                "type": "text",
                "text": {
                    "lines": ["first one", "second"],
                    "fontSize": 30,
                    "textTransform": "uppercase",
                    "lineHeight": 1.6,
                    "textAlign": "right",
                    "padding": 4,
                },
            }
        ],
        words(
            "font-size:30px;text-transform:uppercase;line-height:1.6;text-align:right;padding:4px",
            "first one\nsecond",
        ),
    ),
    "a ground of its own": OracleCase(
        [
            text(
                "Tag",
                fontSize=50,
                color="#102030",
                backgroundColor="#ffcc00",
                backgroundTransform="skewX(-12deg)",
                place={"position": {"x": 60, "y": 60}},
            )
        ],
        '<div style="position:absolute;left:60px;top:60px;width:max-content"><div style="position:'
        'absolute;inset:0;background:#fc0;transform:skewX(-12deg)"></div>'
        + words("font-size:50px;color:#102030;position:relative", "Tag")
        + "</div>",
    ),
    "many scripts": OracleCase(
        [text("naïve Ωμ 日本語 שלום 👋", fontSize=24)],
        words(
            "font-family:'Liberation Sans','Noto Sans CJK SC';font-size:24px",
            "naïve Ωμ 日本語 שלום 👋",
        ),
    ),
    "scaled": OracleCase(
        [
            text(
                "sharp",
                fontSize=20,
                place={"position": {"x": 60, "y": 60, "origin": "left top"}, "size": {"scale": 3}},
            )
        ],
        words(
            "font-size:20px;position:absolute;left:60px;top:60px;transform:scale(3);"
            "transform-origin:0 0",
            "sharp",
        ),
    ),
    "at the bottom right": OracleCase(
        [
            text(
                "1,299 €",
                fontSize=32,
                fontWeight="bold",
                padding=6,
                backgroundColor="#0a7",
                place={"position": {"x": "right", "y": "bottom"}},
            )
        ],
        words(
            "font-size:32px;font-weight:700;padding:6px;background:#0a7;position:absolute;"
            "right:0;bottom:0",
            "1,299 €",
        ),
    ),
}

SHAPES = {
    "ellipse with a rim": OracleCase(
        [
            shape(
                "ellipse",
                (40, 30, 200, 140),
                look={"color": "#40c0a0", "strokeColor": "#fff", "strokeWidth": 10},
            )
        ],
        rect((40, 30, 200, 140), "background:#40c0a0;border:10px solid #fff;border-radius:50%"),
    ),
    "line": OracleCase(
        [
            shape(
                "line",
                (20, 100, 280, 40),
                look={"color": "#ff0", "strokeWidth": 6},
                position={"angle": 20},
            )
        ],
        rect((20, 117, 280, 6), "background:#ff0;transform:rotate(20deg)"),
    ),
    "path": OracleCase(
        [
            shape(
                "path",
                (50, 30, 200, 180),
                look={
                    "path": "M 100 10 C 160 10 190 90 100 170 C 10 90 40 10 100 10 Z",
                    "color": "#e04060",
                    "strokeColor": "#fff",
                    "strokeWidth": 5,
                },
            )
        ],
        '<svg style="position:absolute;left:50px;top:30px;overflow:visible" width=200 height=180>'
        '<path d="M 100 10 C 160 10 190 90 100 170 C 10 90 40 10 100 10 Z" fill="#e04060" '
        'stroke="#fff" stroke-width=5 /></svg>',
    ),
    "round bar, growing": OracleCase(
        [
            shape(
                "rect",
                (20, 100, 280, 24),
                look={"color": "#e07030", "borderRadius": 12},
                transitions=keyframes("width", (0, 24), (2, 280)),
            )
        ],
        lambda n: rect((20, 100, 24 + 256 * n / 60, 24), "background:#e07030;border-radius:12px"),
        at_s=(0.3, 1, 1.7),
    ),
    "z and shares of the canvas": OracleCase(
        [
            shape(
                "rect",
                (0.25, 0.5, 100, 60),
                look={"color": "#f00"},
                position={"isRelative": True, "z": 2},
            ),
            shape("rect", (100, 100, 100, 80), look={"color": "#0f0"}),
        ],
        rect((100, 100, 100, 80), "background:#0f0") + rect((80, 120, 100, 60), "background:#f00"),
    ),
}

FILTERS = {
    "darker film": OracleCase(tinted("brightness", brightness=50), below("brightness(.5)")),
    "brighter than white": OracleCase(
        tinted("brightness", brightness=180), below("brightness(1.8)")
    ),
    "hard contrast": OracleCase(tinted("contrast", contrast=250), below("contrast(2.5)")),
    "soft contrast": OracleCase(tinted("contrast", contrast=40), below("contrast(.4)")),
    "more colour": OracleCase(tinted("saturation", saturation=180), below("saturate(1.8)")),
    "half grey": OracleCase(tinted("grayscale", grayscale=50), below("grayscale(.5)")),
    "negative film": OracleCase(tinted("negative"), below("invert(1)")),
    "lighter": OracleCase(
        tinted("lighten"), below("none") + rect((0, 0, 320, 240), "background:#fff3")
    ),
    "for a while": OracleCase(
        [
            image(),
            {
                "type": "filter",
                "filter": {"name": "negative"},
                "timeline": {"start": 0.5},
                "trim": {"end": 1},
            },
            image(LOGO),
        ],
        lambda n: below("invert(1)" if 15 <= n < 45 else "none") + at(0, 0, file=LOGO),
        at_s=(0.4, 0.5, 1.4, 1.5),
    ),
    "from white": OracleCase(
        tinted("fadein", color="#ffffff", duration=1),
        lambda n: covered("#fff", 1 - gone(n)),
        at_s=(0, 0.5, 0.9, 1.2),
    ),
    "to a colour": OracleCase(
        tinted("fadeout", color="#802000", duration=1),
        lambda n: covered("#802000", gone(max(0, n - 30))),
        at_s=(0.9, 1.5, 1.8),
    ),
    "of a layer with soft edges": OracleCase(
        [
            image(
                LOGO,
                position={"x": 60, "y": 40},
                size={"scale": 1.5},
                filters=[{"name": "contrast", "options": {"contrast": 60}}, {"name": "negative"}],
            )
        ],
        at(60, 40, "transform:scale(1.5);filter:contrast(.6) invert(1)", file=LOGO),
    ),
    "one after the other": OracleCase(
        [
            image(
                filters=[
                    {"name": "brightness", "options": {"brightness": 200}},
                    {"name": "brightness", "options": {"brightness": 50}},
                ]
            )
        ],
        at(0, 0, "filter:brightness(2) brightness(.5)"),
    ),
}

LED = {
    "slides in from the left": OracleCase(
        [image(**SMALL, transitions=preset("slideIn", direction="left"))],
        lambda n: at(90 - 240 * (1 - gone(n)), 70, SMALL_CSS),
        at_s=(0.3, 0.8, 1.2),
    ),
    "slides out to the bottom": OracleCase(
        [image(**SMALL, transitions=preset("slideOut", direction="bottom"))],
        lambda n: at(90, 70 + 170 * gone(max(0, n - 30)), SMALL_CSS),
        at_s=(0.8, 1.4, 1.8),
    ),
    "wipes in from the right": OracleCase(
        [image(**SMALL, transitions=preset("wipeIn", direction="right"))],
        lambda n: at(90, 70, f"{SMALL_CSS}clip-path:inset(0 0 0 {100 * (1 - gone(n))}%)"),
        at_s=(0.2, 0.6, 1.1),
    ),
    "zooms in": OracleCase(
        [image(**SMALL, transitions=preset("zoomIn"))],
        lambda n: at(90, 70, f"{SMALL_CSS}transform:scale({gone(n)})"),
        at_s=(0.3, 0.7, 1),
    ),
    "opacity of keyframes": OracleCase(
        [image(**SMALL, transitions=keyframes("opacity", (0, 1), (1, 0.2), (2, 0.8)))],
        lambda n: at(
            90, 70, f"{SMALL_CSS}opacity:{1 - 0.8 * n / 30 if n < 30 else 0.2 + 0.02 * (n - 30)}"
        ),
        at_s=(0.5, 1, 1.6),
    ),
    "steps": OracleCase(
        [image(**SMALL, transitions=keyframes("x", (0, 0), (2, 160), easing="steps(4)"))],
        lambda n: at(40 * (n * 4 // 60), 70, SMALL_CSS),
        at_s=(0.4, 0.6, 1.2, 1.9),
    ),
    "held, then there": OracleCase(
        [image(**SMALL, transitions=keyframes("x", (0, 10), (1, 150), easing="hold"))],
        lambda n: at(10 if n < 30 else 150, 70, SMALL_CSS),
        at_s=(0.9, 1),
    ),
    "eased by a power": OracleCase(
        [image(**SMALL, transitions=keyframes("y", (0, 0), (2, 140), easing="easeIn"))],
        lambda n: at(90, 140 * (n / 60) ** 2, SMALL_CSS),
        at_s=(0.5, 1, 1.5),
    ),
    "tilting": OracleCase(
        [
            image(
                **{**SMALL, "position": {"x": 90, "y": 70, "perspective": 600}},
                transitions=keyframes("angleY", (0, 0), (2, 60)),
            )
        ],
        lambda n: at(90, 70, f"{SMALL_CSS}transform:perspective(600px) rotateY({n}deg)"),
        at_s=(0.5, 1.5),
    ),
}
CASES = TEXTS | SHAPES | FILTERS | LED


@pytest.fixture(scope="module")
def oracle(browser: Browser, assets: LocalAssets) -> Oracle:
    return Oracle(CASES.values(), browser, assets)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_config_and_page_look_alike(case: OracleCase, oracle: Oracle) -> None:
    oracle.assert_alike(case)
