"""The layer at fault is found by the path that a failure begins with."""

import pytest

from framekiln.videos.failures import innermost_layer_id, leading_path

CONFIG = {
    "layers": [
        {"id": "a"},
        {"id": "g", "layers": [{"id": "x"}, {"id": "y", "layers": [{"id": "deep"}]}]},
    ]
}


@pytest.mark.parametrize(
    ("message", "path"),
    [
        ("layers.2.file: layer a: gone", "layers.2.file"),
        ("layers.2: layer a: gone", "layers.2"),
        ("layers.0.layers.11.trim.end: x", "layers.0.layers.11.trim.end"),
        ("fonts.1.src: x", "fonts.1.src"),
        ("layers: too many", None),
        ("host.example: answered with status 404.", None),
        ("the layers.0.file: x", None),
    ],
)
def test_the_leading_path_of_a_message_is_found(message: str, path: str | None) -> None:
    assert leading_path(message) == path


@pytest.mark.parametrize(
    ("path", "layer"),
    [
        ("layers.0.file", "a"),
        ("layers.1", "g"),
        ("layers.1.layers.0.file", "x"),
        ("layers.1.layers.1.layers.0", "deep"),
        ("layers.1.position.x", "g"),
        ("layers.7.file", None),
        ("layers.1.layers.9", "g"),
        ("fonts.0.src", None),
    ],
)
def test_the_innermost_layer_of_a_path_is_found(path: str, layer: str | None) -> None:
    assert innermost_layer_id(CONFIG, path) == layer
