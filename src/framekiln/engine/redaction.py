"""Makes a copy of a film in which boxes cannot be seen and spans cannot be heard any more.

What comes into the place of a box is made of the pixels around all boxes: nothing inside any of
them has a part in it. Runs in a confined child (`task`).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from framekiln.compositor.fill import hide
from framekiln.compositor.picture import Picture
from framekiln.compositor.rect import Rect
from framekiln.engine.hidden_boxes import BoxPath, HiddenBoxes
from framekiln.media.remaking.redaction import Shown, redact

_GREY: Final = 128

Report = Callable[[dict[str, Any]], None]


def task(args: dict[str, Any], report: Report) -> dict[str, Any]:
    """Redact `source` to `out` by the JSON file `order`: its `boxes` and its `mutes`."""
    order = json.loads(Path(args["order"]).read_bytes())
    hiding = _Hiding(HiddenBoxes(map(BoxPath.from_json, order["boxes"])))
    muted = [(Fraction(each["start_ms"]), Fraction(each["end_ms"])) for each in order["mutes"]]
    made = redact(
        Path(args["source"]),
        Path(args["out"]),
        draw=hiding.draw,
        muted=muted,
        tell=lambda part: report({"thousandths": int(part * 1000)}),
    )
    return {
        "width_px": made.width_px,
        "height_px": made.height_px,
        "fps": str(made.fps),
        "duration_ms": made.duration_ms,
    }


@dataclass(frozen=True)
class _Hiding:
    """Draws on picture after picture."""

    boxes: HiddenBoxes

    def draw(self, shown: Shown) -> None:
        """Hide what must not be seen."""
        picture = Picture(shown.luma, shown.blue, shown.red)
        covered = self.boxes.covered(shown.from_ms, shown.until_ms)
        rects = [box.rect(picture.width_px, picture.height_px) for box in covered]
        hide_all(picture, rects)


def hide_all(picture: Picture, rects: Sequence[Rect]) -> None:
    """Fill rectangles, which may overlap or touch, so that none shines through in another."""
    if len(rects) > 1:
        for rect in rects:
            _blank(picture, rect)
        # The first of two neighbours finds grey where the other is, so each is filled again.
        for rect in rects:
            hide(picture, rect)
    for rect in rects:
        hide(picture, rect)


def _blank(picture: Picture, rect: Rect) -> None:
    picture.y[rect.top : rect.bottom, rect.left : rect.right] = _GREY
    half = slice(rect.top // 2, rect.bottom // 2), slice(rect.left // 2, rect.right // 2)
    picture.u[half] = picture.v[half] = _GREY
