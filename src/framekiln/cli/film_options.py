"""Options that commands about films share; fast to import."""

from fractions import Fraction
from typing import Annotated

import typer

from framekiln.composition.render_preset import RenderPreset
from framekiln.engine.film_bounds import MAX_DURATION_MS, MAX_SIDE_PX
from framekiln.kit.errors import InvalidInput
from framekiln.timeline import exact_rate

SideOption = Annotated[int | None, typer.Option(min=2, max=MAX_SIDE_PX, help="Size in pixels.")]
RateOption = Annotated[
    str | None, typer.Option(help="Frame rate: a number, or a fraction such as 30000/1001.")
]
DurationOption = Annotated[
    int | None, typer.Option(min=1, max=MAX_DURATION_MS, help="The duration of the film.")
]
AtOption = Annotated[
    str | None, typer.Option(help="The time of a still: milliseconds, or 1.5s; default 0.")
]
TransparentFlag = Annotated[
    bool, typer.Option("--transparent", help="Keep the background of a .png or .webp transparent.")
]
PresetOption = Annotated[
    RenderPreset, typer.Option(help="Encoding effort: faster, or smaller files of better quality.")
]


def even_side(option: str, value: int | None, *, is_film: bool) -> int | None:
    """Return a side in pixels; raise if a film cannot have it."""
    if is_film and value is not None and value % 2:
        raise InvalidInput(f"{option} {value} is odd: films need even sizes")
    return value


def read_rate(text: str) -> Fraction:
    """Return the frame rate of `--fps`."""
    try:
        rate = Fraction(text) if "/" in text else exact_rate(float(text))
    except (ValueError, ZeroDivisionError) as error:
        raise InvalidInput(f"--fps {text!r} is neither a number nor a fraction") from error
    if not 1 <= rate <= 120:
        raise InvalidInput(f"--fps {text}: must be 1 to 120")
    return rate
