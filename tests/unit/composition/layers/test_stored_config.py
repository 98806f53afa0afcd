"""Stored configs are read again as they were accepted, uploads in groups too."""

import json

import pytest

from framekiln.composition.layers import InvalidConfig, ReadOptions, read_config, write_config
from framekiln.composition.layers.config_json import read_stored_config

CONFIG = {
    "dimensions": {"width": 4, "height": 4},
    "duration": 1,
    "layers": [
        {"id": "g", "type": "group", "layers": [{"id": "up", "type": "image"}]},
        {"id": "far", "type": "image", "file": "https://a.example/b.png"},
    ],
}


def test_a_stored_config_is_read_back() -> None:
    accepted = read_config(CONFIG, ReadOptions(uploads={"up": "upload:1"})).config
    stored = json.dumps(write_config(accepted)).encode()
    assert read_stored_config(stored).config == accepted
    with pytest.raises(InvalidConfig):
        read_config(stored)
