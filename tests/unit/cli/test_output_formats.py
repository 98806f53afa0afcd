"""What the ending of an output means, and when a still is taken."""

from pathlib import Path

import pytest

from framekiln.cli.output_formats import UnknownFormat, format_of, read_time, still_format
from framekiln.kit.errors import InvalidInput
from framekiln.media.images.still_formats import PngFormat, WebpFormat


@pytest.mark.parametrize(
    ("name", "meant"),
    [("a.mp4", "mp4"), ("a.b.WebM", "webm"), ("x.JPG", "jpeg"), ("x.jpeg", "jpeg")],
)
def test_the_extension_decides_the_format(name: str, meant: str) -> None:
    assert format_of(Path(name)) == meant


@pytest.mark.parametrize("name", ["film.avi", "film", "film.mp4.", ".mp4", "mp4"])
def test_an_unknown_extension_is_refused_with_all_known_ones(name: str) -> None:
    with pytest.raises(UnknownFormat) as refused:
        format_of(Path(name))
    assert refused.value.message == (
        f"--output {name}: the name must end in .mp4, .webm, .mov, .gif for a film,"
        " or in .png, .jpg, .jpeg, .webp for a still"
    )


def test_only_png_and_webp_are_transparent() -> None:
    assert still_format("png", is_transparent=True) == PngFormat(transparency=True)
    assert still_format("webp", is_transparent=True) == WebpFormat(transparency=True)
    for name in ("jpeg", "mp4", "gif"):
        with pytest.raises(InvalidInput, match="--transparent works only for stills"):
            still_format(name, is_transparent=True)
    assert still_format("gif", is_transparent=False) is None


@pytest.mark.parametrize(
    ("text", "at_ms"),
    [
        ("0", 0),
        ("1500", 1500),
        ("1500ms", 1500),
        ("1.5s", 1500),
        ("0.0004s", 0),
        ("2m", 120_000),
        ("1 min", 60_000),
        ("6h", 21_600_000),
        *((wrong, None) for wrong in (".5s", "7h", "-1", "1e3", "", "soon", "1.5 weeks")),
    ],
)
def test_times_are_milliseconds_or_have_a_unit(text: str, at_ms: int | None) -> None:
    if at_ms is not None:
        assert read_time(text) == at_ms
        return
    with pytest.raises(InvalidInput, match="must be milliseconds or a time such as"):
        read_time(text)
