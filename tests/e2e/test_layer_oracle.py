"""Layers against pages: the same picture as a config and as HTML, drawn by two engines.

The page is Chromium's own drawing; the config goes through our compositor. Frames at several times
must be alike, so a mistake in the order of transforms, in a box or a colour cannot hide.
"""

import pytest

from framekiln.capture.browser import Browser
from tests.support.layer_oracle import (
    LOGO,
    Oracle,
    OracleCase,
    at,
    image,
    keyframes,
    moving,
    oracle_media,
    text,
)
from tests.support.local_assets import LocalAssets


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return oracle_media(tmp_path_factory.mktemp("media"))


CASES = {
    "natural": OracleCase([image(position={"x": 20, "y": 30})], at(20, 30)),
    "odd place": OracleCase([image(position={"x": 21, "y": 33})], at(21, 33)),
    "between pixels": OracleCase(
        [image(position={"x": 20.4, "y": 30.6}, size={"width": 150.3})],
        at(20.4, 30.6, "width:150.3px"),
    ),
    "width": OracleCase([image(size={"width": 200})], at(0, 0, "width:200px")),
    "stretch": OracleCase(
        [image(size={"width": 160, "height": 220})], at(0, 0, "width:160px;height:220px")
    ),
    "fit": OracleCase(
        [image(size={"width": 300, "height": 100, "format": "fit"})],
        at(0, 0, "width:300px;height:100px;object-fit:contain"),
    ),
    "fill": OracleCase(
        [image(size={"width": 120, "height": 220, "format": "fill"}, position={"x": 50, "y": 10})],
        at(50, 10, "width:120px;height:220px;object-fit:cover"),
    ),
    "fill with focus": OracleCase(
        [image(size={"width": 120, "height": 220, "format": "fill", "focus": {"x": 0.9, "y": 0}})],
        at(0, 0, "width:120px;height:220px;object-fit:cover;object-position:90% 0"),
    ),
    "centred and scaled": OracleCase(
        [image(position={"x": "center", "y": "center"}, size={"width": 150, "scale": 1.4})],
        at(85, 70, "width:150px;transform:scale(1.4)"),
    ),
    "scaled about a corner": OracleCase(
        [image(position={"x": 40, "y": 20, "origin": "right bottom"}, size={"scale": 0.6})],
        at(40, 20, "transform:scale(.6);transform-origin:right bottom"),
    ),
    "turned": OracleCase(
        [image(position={"x": 40, "y": 40, "angle": 25}, size={"width": 200})],
        at(40, 40, "width:200px;transform:rotate(25deg)"),
    ),
    "tilted flat": OracleCase(
        [image(position={"x": 20, "y": 20, "angleX": 40, "angleY": 30, "angle": 15})],
        at(20, 20, "transform:rotateX(40deg) rotateY(30deg) rotate(15deg)"),
    ),
    "tilted in perspective": OracleCase(
        [
            image(
                position={"x": 20, "y": 20, "angleY": 45, "angle": 10, "perspective": 500},
                size={"scale": 0.9},
            )
        ],
        at(20, 20, "transform:perspective(500px) rotateY(45deg) rotate(10deg) scale(.9)"),
    ),
    "back face": OracleCase(
        [image(position={"x": 10, "y": 20, "angleY": 180})],
        at(10, 20, "transform:rotateY(180deg)"),
    ),
    "flipped": OracleCase([image(size={"flip": "both"})], at(0, 0, "transform:scale(-1,-1)")),
    "see-through": OracleCase(
        [image(opacity=0.4), image(LOGO, position={"x": 50, "y": 60})],
        at(0, 0, "opacity:.4") + at(50, 60, file=LOGO),
    ),
    "logo, turned and larger": OracleCase(
        [image(LOGO, position={"x": 100, "y": 80, "angle": 30}, size={"scale": 2})],
        at(100, 80, "transform:rotate(30deg) scale(2)", file=LOGO),
    ),
    "round": OracleCase(
        [
            image(
                size={"width": 200, "height": 150, "borderRadius": 40}, position={"x": 31, "y": 20}
            )
        ],
        at(31, 20, "width:200px;height:150px;border-radius:40px"),
    ),
    "cropped": OracleCase(
        [image(size={"crop": {"left": 0.2, "top": 0.1, "right": 0.1, "bottom": 0.3}})],
        '<div style="width:210px;height:120px;overflow:hidden;position:relative">'
        + at(-60, -20)
        + "</div>",
    ),
    "blurred": OracleCase(
        [
            image(
                position={"x": 30, "y": 30},
                size={"width": 200},
                transitions=keyframes("blur", (0, 6)),
            )
        ],
        at(30, 30, "width:200px;filter:blur(6px)"),
    ),
    "brightness": OracleCase(
        [image(filters=[{"name": "brightness", "options": {"brightness": 60}}])],
        at(0, 0, "filter:brightness(.6)"),
    ),
    "contrast and saturation": OracleCase(
        [
            image(
                filters=[
                    {"name": "contrast", "options": {"contrast": 150}},
                    {"name": "saturation", "options": {"saturation": 40}},
                ]
            )
        ],
        at(0, 0, "filter:contrast(1.5) saturate(.4)"),
    ),
    "all below grey": OracleCase(
        [image(), {"type": "filter", "filter": {"name": "grayscale"}}, image(LOGO)],
        '<div style="position:absolute;inset:0;background:#204060;filter:grayscale(1)">'
        + at(0, 0)
        + "</div>"
        + at(0, 0, file=LOGO),
    ),
    "negative": OracleCase([image(filters=[{"name": "negative"}])], at(0, 0, "filter:invert(1)")),
    "moving": OracleCase(
        [image(LOGO, transitions=keyframes("x", (0, 0), (2, 200)))],
        at(0, 0, file=LOGO),
        moving("from{transform:translateX(0)}to{transform:translateX(200px)}"),
        at_s=(0, 0.5, 1.1, 1.7),
    ),
    "growing and turning": OracleCase(
        [
            image(
                size={"width": 120},
                position={"x": 90, "y": 60},
                transitions=[
                    *keyframes("scale", (0, 0.5), (2, 2)),
                    *keyframes("angle", (0, 0), (2, 180)),
                ],
            )
        ],
        at(90, 60, "width:120px"),
        moving("from{transform:rotate(0) scale(.5)}to{transform:rotate(180deg) scale(2)}"),
        at_s=(0, 0.4, 1, 1.6),
    ),
    "ken burns": OracleCase(
        [
            image(
                size={"format": "fill"},
                transitions=[
                    {
                        "type": "kenBurns",
                        "options": {
                            "start": 0,
                            "end": 2,
                            "scale1": 1,
                            "scale2": 1.5,
                            "x1": 0,
                            "x2": -40,
                            "y1": 0,
                            "y2": -20,
                        },
                    }
                ],
            )
        ],
        at(0, 0, "width:320px;height:240px;object-fit:cover"),
        moving(
            "from{transform:translate(0,0) scale(1)}to{transform:translate(-40px,-20px) scale(1.5)}"
        ),
        at_s=(0, 0.7, 1.5),
    ),
    "fading": OracleCase(
        [image(transitions=[{"type": "fadeIn", "duration": 1}])],
        at(0, 0),
        "img{animation:m 1s linear both}@keyframes m{from{opacity:0}to{opacity:1}}",
        at_s=(0.2, 0.5, 1.5),
    ),
    "eased": OracleCase(
        [
            image(
                LOGO,
                transitions=keyframes("y", (0, 0), (2, 160), easing="cubic-bezier(0.4,0,0.2,1)"),
            )
        ],
        at(0, 0, file=LOGO),
        moving(
            "from{transform:translateY(0)}to{transform:translateY(160px)}",
            timing="cubic-bezier(.4,0,.2,1)",
        ),
        at_s=(0.3, 1, 1.6),
    ),
    "group": OracleCase(
        [
            {
                "type": "group",
                "opacity": 0.5,
                "position": {"angle": 10},
                "size": {"scale": 0.8},
                "layers": [image(), image(LOGO, position={"x": 100, "y": 50})],
            }
        ],
        '<div style="position:absolute;width:320px;height:240px;opacity:.5;'
        'transform:rotate(10deg) scale(.8)">' + at(0, 0) + at(100, 50, file=LOGO) + "</div>",
    ),
    "text": OracleCase(
        [text("Hello, kiln!", fontSize=44)],
        '<div class="t" style="font-size:44px">Hello, kiln!</div>',
    ),
    "text box": OracleCase(
        [
            text(
                "Two lines\nof text",
                fontSize=36,
                color="#ffee00",
                backgroundColor="#aa0022",
                border="4px solid #ffffff",
                borderRadius=20,
                textAlign="center",
                fontWeight=700,
                place={"position": {"x": 30, "y": 40}},
            )
        ],
        '<div class="t" style="position:absolute;left:30px;top:40px;font-size:36px;color:#fe0;'
        "background:#a02;border:4px solid #fff;border-radius:20px;text-align:center;"
        'font-weight:700">Two lines\nof text</div>',
    ),
    "text, wrapped and centred": OracleCase(
        [
            text(
                "some words that do not fit into one line",
                fontSize=30,
                textAlign="center",
                place={"position": {"x": "center", "y": "center"}, "size": {"width": 240}},
            )
        ],
        '<div style="position:absolute;inset:0;display:grid;place-items:center"><div class="t" '
        'style="font-size:30px;width:240px;text-align:center">some words that do not fit into one '
        "line</div></div>",
    ),
    "text, turned": OracleCase(
        [text("turned", fontSize=60, place={"position": {"x": 40, "y": 70, "angle": -20}})],
        '<div class="t" style="position:absolute;left:40px;top:70px;font-size:60px;'
        'transform:rotate(-20deg)">turned</div>',
    ),
    "text, outlined with a shadow": OracleCase(
        [
            text(
                "Shadow",
                fontSize=60,
                stroke={"color": "#000", "width": 2},
                shadow={"color": "#ff0000", "x": 6, "y": 6, "blur": 4},
            )
        ],
        '<div class="t" style="font-size:60px;-webkit-text-stroke:2px #000;paint-order:stroke fill;'
        'text-shadow:6px 6px 4px #f00">Shadow</div>',
    ),
    "shapes": OracleCase(
        [
            {
                "type": "shape",
                "shape": {
                    "kind": "rect",
                    "color": "#e07030",
                    "borderRadius": 24,
                    "strokeColor": "#ffffff",
                    "strokeWidth": 6,
                },
                "size": {"width": 140, "height": 90},
                "position": {"x": 20, "y": 20},
            },
            {
                "type": "shape",
                "shape": {"kind": "ellipse", "color": "#40c0a080"},
                "size": {"width": 150, "height": 120},
                "position": {"x": 121, "y": 81},
            },
        ],
        '<div style="position:absolute;left:20px;top:20px;width:140px;height:90px;'
        'background:#e07030;border-radius:24px;border:6px solid #fff"></div>'
        '<div style="position:absolute;left:121px;top:81px;width:150px;height:120px;'
        'background:#40c0a080;border-radius:50%"></div>',
    ),
}


@pytest.fixture(scope="module")
def oracle(browser: Browser, assets: LocalAssets) -> Oracle:
    return Oracle(CASES.values(), browser, assets)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_config_and_page_look_alike(case: OracleCase, oracle: Oracle) -> None:
    oracle.assert_alike(case)
