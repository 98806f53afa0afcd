"""The mark that `shouldWatermark` asks for: a line of text over everything, in the lower corner."""

from typing import Final

from framekiln.composition.layers.colours import Colour
from framekiln.composition.layers.geometry import Align, Position
from framekiln.composition.layers.numbers import LARGEST
from framekiln.composition.layers.styles import Shadow, TextStyle
from framekiln.composition.layers.values import Dimensions, TextLayer

# No layer of a config can have this id.
_ID: Final = ""
_TEXT: Final = "Made with Framekiln"
_HEIGHT: Final = 1 / 24
_SMALLEST_PX: Final = 8.0
_WHITE: Final = Colour(255, 255, 255, 200)
_SHADE: Final = Colour(0, 0, 0, 160)


def watermark(dimensions: Dimensions) -> TextLayer:
    """Return the layer, as large as the canvas wants it."""
    size_px = max(_SMALLEST_PX, round(min(dimensions.height_px, dimensions.width_px) * _HEIGHT))
    style = TextStyle(
        text=_TEXT,
        color=_WHITE,
        font_size_px=size_px,
        font_weight=600,
        padding_px=size_px / 2,
        shadow=Shadow(color=_SHADE, y_px=size_px / 16, blur_px=size_px / 6),
    )
    return TextLayer(
        path="shouldWatermark",
        id=_ID,
        text=style,
        position=Position(x=Align.END, y=Align.END, z=float(LARGEST)),
    )
