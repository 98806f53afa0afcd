"""What the timeline of a layer config calls its layers."""

from framekiln.engine.layers.layer_tracks import layer_tracks
from tests.unit.composition.layers.configs import film, image, text


def test_a_track_is_named_by_what_its_author_knows_of_the_layer() -> None:
    shape = {"type": "shape", "shape": {"kind": "rect"}}
    group = {"type": "group", "name": "Title", "layers": [shape]}
    tracks = layer_tracks(film(shape, shape | {"id": "box"}, group, image(), text()))
    assert [track.name for track in tracks] == [
        "shape layers.0",
        "box",
        "Title",
        "shape layers.2.layers.0",
        "picture.png",
        "Hello",
    ]
