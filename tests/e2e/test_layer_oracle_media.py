"""Layers against pages, where something plays: videos, animations, dissolves, captions, pages.

What a page shows of a video are single frames of it, chosen here by arithmetic.
"""

from typing import Any

import pytest

from framekiln.capture.browser import Browser
from tests.support.layer_media import moving_square
from tests.support.layer_oracle import (
    FPS,
    LOGO,
    SAID,
    TURNS,
    Oracle,
    OracleCase,
    at,
    clip_frame,
    image,
    keyframes,
    oracle_media,
    video,
)
from tests.support.local_assets import MEDIA_ORIGIN, LocalAssets

FULL = {"format": "fill"}
COVER = "width:320px;height:240px;object-fit:cover;"
CANVAS = "position:absolute;width:320px;height:240px;overflow:hidden;"


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> LocalAssets:
    return oracle_media(tmp_path_factory.mktemp("media"))


def seconds(number: int) -> float:
    return number / FPS


def shown(number: int, style: str = "", place: tuple[float, float] = (0, 0)) -> str:
    """The excerpt from its start, as it stands in a frame of the film."""
    return at(*place, style, file=clip_frame(seconds(number)))


def fading(kind: str, duration: float) -> list[dict[str, Any]]:
    return [{"type": kind, "options": {"duration": duration}}]


def only(number: int, start_s: float, end_s: float, html: str) -> str:
    return html if start_s <= seconds(number) < end_s else ""


def mixed(share: float, one: str, other: str) -> str:
    """Two things that become each other, `share` of the other, on nothing but themselves."""
    apart = f"{CANVAS}mix-blend-mode:plus-lighter;opacity:"
    return (
        f'<div style="{CANVAS}isolation:isolate"><div style="{apart}{1 - share}">{one}</div>'
        f'<div style="{apart}{share}">{other}</div></div>'
    )


def dissolving(number: int) -> str:
    """A photo until 1 s, then the excerpt; from 0.5 s on both."""
    now_s = seconds(number)
    photo = at(0, 0, COVER)
    clip = at(0, 0, COVER, file=clip_frame(max(0.0, now_s - 0.5)))
    return mixed(min(1.0, max(0.0, (now_s - 0.5) / 0.5)), photo, clip)


def in_turn(number: int) -> str:
    """A photo for 0.8 s, the excerpt from 0.5 s to 1.3 s, and then the logo; 0.3 s of each mix."""
    now_s = seconds(number)
    photo, logo = at(0, 0, COVER), at(0, 0, "width:200px", file=LOGO)
    clip = at(0, 0, COVER, file=clip_frame(min(0.79, max(0.0, now_s - 0.5))))
    if now_s < 0.8:
        return mixed(max(0.0, (now_s - 0.5) / 0.3), photo, clip)
    return mixed(min(1.0, max(0.0, (now_s - 1.0) / 0.3)), clip, logo)


def captioned(number: int) -> str:
    style = (
        "position:absolute;left:50%;transform:translateX(-50%);top:180px;width:max-content;"
        "max-width:288px;text-align:center;white-space:pre-wrap;padding:0.1em 0.35em;"
        "font:400 20px/1.2 Helvetica,'Liberation Sans';color:#ffee00;background:#00000080"
    )
    now_s = seconds(number)
    if 0.5 <= now_s < 1:
        return f'<div style="{style}">One line, then two</div>'
    if 1.2 <= now_s < 1.8:
        return f'<div style="{style}">A caption that is far too long for one line</div>'
    return ""


def turning(number: int) -> str:
    now_ms = round(seconds(number) * 1000) % 600
    which = 0 if now_ms < 100 else 1 if now_ms < 300 else 2
    return at(30, 20, "width:192px", file=f"{MEDIA_ORIGIN}turn/{which}.png")


def in_picture(number: int) -> str:
    pip = at(0, 0, "width:120px;height:90px;object-fit:cover", file=clip_frame(seconds(number)))
    frame = "position:absolute;left:184px;top:134px;width:120px;height:90px;overflow:hidden"
    return (
        at(0, 0, COVER)
        + '<div style="position:absolute;left:180px;top:130px;width:128px;height:98px;'
        'background:#fff;border-radius:20px"></div>'
        + f'<div style="{frame};border-radius:16px">{pip}</div>'
    )


def grouped(number: int) -> str:
    """A group that starts at 0.5 s, with a child that starts 0.5 s later."""
    now_s = seconds(number)
    if now_s < 0.5:
        return ""
    clip = at(0, 0, "width:320px", file=clip_frame(now_s - 0.5))
    logo = at(100, 60, file=LOGO) if now_s >= 1 else ""
    fade = min(1.0, (now_s - 0.5) / 0.5)
    turned = f"opacity:{fade};transform:rotate(10deg) scale(.8)"
    return f'<div style="position:absolute;width:320px;height:240px;{turned}">{clip}{logo}</div>'


def lottie(number: int) -> str:
    left = 60 + 180 * min(number, 29) / 30
    return (
        f'<div style="position:absolute;left:{left}px;top:60px;width:20px;height:20px;'
        'background:#f00"></div>'
    )


MOVING_PAGE = {
    "body": '<div class="card"><b>Sale</b> 50 % off</div>',
    "styles": "body{font:24px/1.3 'Liberation Sans'}.card{margin:10px;padding:12px;width:150px;"
    "background:#fc0;border-radius:12px;animation:m 2s linear both}"
    "@keyframes m{to{transform:translateX(100px) rotate(20deg)}}",
}
MOVING_CSS = (
    ".card{font:24px/1.3 'Liberation Sans';margin:10px;padding:12px;width:150px;background:#fc0;"
    "border-radius:12px;animation:m 2s linear both;box-sizing:content-box}"
    "@keyframes m{to{transform:translateX(100px) rotate(20deg)}}"
)


def page_in(style: str) -> str:
    return f'<div style="position:absolute;overflow:hidden;{style}">{MOVING_PAGE["body"]}</div>'


CASES = {
    "video": OracleCase([video()], shown, at_s=(0, 0.5, 1.3, 1.9)),
    "video, smaller at an odd place": OracleCase(
        [video(size={"width": 160}, position={"x": 51, "y": 33})],
        lambda n: shown(n, "width:160px", (51, 33)),
        at_s=(0.2, 1.1),
    ),
    "video, fit": OracleCase(
        [video(size={"width": 200, "height": 200, "format": "fit"}, position={"x": 60, "y": 20})],
        lambda n: shown(n, "width:200px;height:200px;object-fit:contain", (60, 20)),
        at_s=(0.3,),
    ),
    "video, fill with focus": OracleCase(
        [
            video(
                size={"width": 120, "height": 220, "format": "fill", "focus": {"x": 0.8, "y": 0}},
                position={"x": 50, "y": 10},
            )
        ],
        lambda n: shown(
            n, "width:120px;height:220px;object-fit:cover;object-position:80% 0", (50, 10)
        ),
        at_s=(0.3, 1.5),
    ),
    "video, stretched": OracleCase(
        [video(size={"format": "stretch"})],
        lambda n: shown(n, "width:320px;height:240px"),
        at_s=(0.7,),
    ),
    "video, trimmed and late": OracleCase(
        [video(trim={"start": 1, "end": 2}, timeline={"start": 0.5})],
        lambda n: only(n, 0.5, 1.5, shown(n + 15)),
        at_s=(0.4, 0.5, 1, 1.4, 1.5),
    ),
    "video, begun before the film": OracleCase(
        [video(timeline={"start": -1})],
        lambda n: shown(n + 30),
        at_s=(0, 1.5),
    ),
    "video, twice as fast": OracleCase(
        [video(speed=2)], lambda n: only(n, 0, 1.5, shown(2 * n)), at_s=(0.3, 1.2, 1.5)
    ),
    "video, slow": OracleCase([video(speed=0.5)], lambda n: shown(n // 2), at_s=(0.4, 1.6)),
    "video, again and again": OracleCase(
        [video(trim={"start": 0.4, "end": 1}, loop=True)],
        lambda n: shown(12 + n % 18),
        at_s=(0.2, 0.6, 1.1, 1.8),
    ),
    "video, twice": OracleCase(
        [video(trim={"start": 0.4, "end": 1}, loop=2)],
        lambda n: only(n, 0, 1.2, shown(12 + n % 18)),
        at_s=(0.7, 1.1, 1.2),
    ),
    "video, frozen": OracleCase(
        [video(trim={"end": 0.6}, freeze=True)],
        lambda n: shown(min(n, 17)),
        at_s=(0.2, 0.6, 1.9),
    ),
    "picture in picture": OracleCase(
        [
            image(size=FULL),
            {
                "type": "shape",
                "shape": {"kind": "rect", "color": "#fff", "borderRadius": 20},
                "size": {"width": 128, "height": 98},
                "position": {"x": 180, "y": 130},
            },
            video(
                size={"width": 120, "height": 90, "format": "fill", "borderRadius": 16},
                position={"x": 184, "y": 134},
            ),
        ],
        in_picture,
        at_s=(0.1, 1.4),
    ),
    "video, cropped and flipped": OracleCase(
        [video(size={"crop": {"left": 0.25, "right": 0.25, "top": 0.2}, "flip": "x"})],
        lambda n: (
            '<div style="width:240px;height:216px;overflow:hidden;position:relative;'
            f'transform:scaleX(-1)">{shown(n, "", (-120, -54))}</div>'
        ),
        at_s=(0.6,),
    ),
    "video, turned": OracleCase(
        [video(size={"width": 240}, position={"x": 40, "y": 50, "angle": -15})],
        lambda n: shown(n, "width:240px;transform:rotate(-15deg)", (40, 50)),
        at_s=(0, 1.2),
    ),
    "video, in perspective": OracleCase(
        [video(position={"x": -80, "angleX": 15, "angleY": -20, "perspective": 900})],
        lambda n: shown(n, "transform:perspective(900px) rotateX(15deg) rotateY(-20deg)", (-80, 0)),
        at_s=(0.9,),
    ),
    "video, see-through and grey": OracleCase(
        [video(opacity=0.6, filters=[{"name": "grayscale", "options": {"grayscale": 80}}])],
        lambda n: shown(n, "opacity:.6;filter:grayscale(.8)"),
        at_s=(0.9,),
    ),
    "video, blurred": OracleCase(
        [
            video(
                size={"width": 200},
                position={"x": 60, "y": 60},
                transitions=keyframes("blur", (0, 5)),
            )
        ],
        lambda n: shown(n, "width:200px;filter:blur(5px)", (60, 60)),
        at_s=(0.5,),
    ),
    "video, moving": OracleCase(
        [video(size={"width": 160}, transitions=keyframes("x", (0, 0), (2, 160)))],
        lambda n: shown(n, "width:160px", (80 * seconds(n), 0)),
        at_s=(0.3, 1.1),
    ),
    "video, fading out": OracleCase(
        [video(trim={"end": 2}, transitions=fading("fadeOut", 1))],
        lambda n: shown(n, f"opacity:{min(1, 2 - seconds(n))}"),
        at_s=(0.9, 1.5, 1.9),
    ),
    "animated picture": OracleCase(
        [image(TURNS, size={"width": 192}, position={"x": 30, "y": 20})],
        turning,
        at_s=(0, 0.1, 0.2, 0.3, 0.5, 0.7, 1.3),
    ),
    "dissolve": OracleCase(
        [
            image(size=FULL, trim={"end": 1}, transitions=fading("crossfadeOut", 0.5)),
            video(size=FULL, timeline={"start": 0.5}, transitions=fading("crossfadeIn", 0.5)),
        ],
        dissolving,
        at_s=(0.2, 0.6, 0.7, 0.8, 0.9, 1.1),
    ),
    "sequence with dissolves": OracleCase(
        [
            {
                "type": "sequence",
                "layers": [
                    image(size=FULL, trim={"end": 0.8}),
                    video(size=FULL, trim={"end": 0.8}, transitions=fading("crossfadeIn", 0.3)),
                    image(LOGO, size={"width": 200}, transitions=fading("crossfadeIn", 0.3)),
                ],
            }
        ],
        in_turn,
        at_s=(0.3, 0.6, 0.7, 0.9, 1.1, 1.2, 1.6),
    ),
    "group in time": OracleCase(
        [
            {
                "type": "group",
                "timeline": {"start": 0.5},
                "position": {"angle": 10},
                "size": {"scale": 0.8},
                "transitions": fading("fadeIn", 0.5),
                "layers": [
                    video(size={"width": 320}),
                    image(LOGO, position={"x": 100, "y": 60}, timeline={"start": 0.5}),
                ],
            }
        ],
        grouped,
        at_s=(0.2, 0.7, 0.9, 1.5),
    ),
    "captions": OracleCase(
        [
            {
                "type": "subtitles",
                "file": SAID,
                "subtitles": {"fontSize": 20, "color": "#fe0", "backgroundColor": "#00000080"},
                "position": {"x": "center", "y": 180},
            }
        ],
        captioned,
        at_s=(0.4, 0.5, 0.9, 1, 1.2, 1.7, 1.8),
    ),
    "page": OracleCase(
        [
            {
                "type": "html",
                "html": {"page": MOVING_PAGE, "withTransparentBackground": True},
                "size": {"width": 240, "height": 160},
                "position": {"x": 40, "y": 30},
            }
        ],
        page_in("left:40px;top:30px;width:240px;height:160px"),
        MOVING_CSS,
        at_s=(0, 0.7, 1.5),
    ),
    "page, white, turned and larger": OracleCase(
        [
            {
                "type": "html",
                "html": {"page": MOVING_PAGE},
                "size": {"width": 240, "height": 120, "scale": 1.3},
                "position": {"x": 40, "y": 60, "angle": 8},
            }
        ],
        page_in(
            "left:40px;top:60px;width:240px;height:120px;background:#fff;"
            "transform:rotate(8deg) scale(1.3)"
        ),
        MOVING_CSS,
        at_s=(0, 1),
    ),
    "lottie": OracleCase(
        [{"type": "lottie", "lottie": moving_square(), "position": {"x": 60, "y": 20}}],
        lottie,
        at_s=(0, 0.5, 0.9, 1.5),
    ),
}


@pytest.fixture(scope="module")
def oracle(browser: Browser, assets: LocalAssets) -> Oracle:
    return Oracle(CASES.values(), browser, assets)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_config_and_page_look_alike(case: OracleCase, oracle: Oracle) -> None:
    oracle.assert_alike(case)
