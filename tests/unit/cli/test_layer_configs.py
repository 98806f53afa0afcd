"""Layer configs and templates as files of the command line."""

import json
from pathlib import Path
from typing import Any

import pytest

from framekiln.cli.layer_configs import read_layer_config
from framekiln.composition.layers import InvalidConfig, ParsedConfig
from framekiln.kit.errors import InvalidInput

SIZE = {"width": 320, "height": 180}


def read(
    folder: Path, value: Any, *, data: str | None = None, at_ms: int | None = None
) -> ParsedConfig:
    path = folder / "config.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return read_layer_config(path, data=data, extension="mp4", at_ms=at_ms)


def files_of(read: ParsedConfig) -> list[str]:
    return [layer.file for layer in read.config.layers]  # type: ignore[attr-defined]


def test_relative_files_are_those_of_the_folder_and_urls_stay(tmp_path: Path) -> None:
    files = ["clip one.mp4", "./media/a.mp4", "/b.mp4", "https://media.test/c.mp4"]
    layers = [{"type": "video", "file": file} for file in files]
    config = read(tmp_path, {"dimensions": SIZE, "layers": layers})
    assert files_of(config) == [
        "http://127.0.0.1/clip%20one.mp4",
        "http://127.0.0.1/media/a.mp4",
        "http://127.0.0.1/b.mp4",
        "https://media.test/c.mp4",
    ]


def test_files_of_nested_layers_and_fonts_may_be_relative(tmp_path: Path) -> None:
    group = {"type": "group", "layers": [{"type": "image", "source": "logo.png"}]}
    fonts = [{"family": "Mine", "src": "mine.woff2"}]
    value = {"dimensions": SIZE, "duration": 1, "layers": [group], "fonts": fonts}
    config = read(tmp_path, value).config
    assert config.layers[0].layers[0].file == "http://127.0.0.1/logo.png"  # type: ignore[attr-defined]
    assert config.fonts[0].src == "http://127.0.0.1/mine.woff2"


def test_a_file_that_is_no_url_is_an_issue_of_its_layer(tmp_path: Path) -> None:
    layers = [{"type": "video", "file": "http://[::1/clip.mp4"}]
    with pytest.raises(InvalidConfig) as raised:
        read(tmp_path, {"dimensions": SIZE, "layers": layers})
    assert [issue.path for issue in raised.value.issues] == ["layers.0.file"]


def test_a_template_is_filled_with_data_and_its_default_values(tmp_path: Path) -> None:
    layer = {"type": "text", "text": {"text": "Hello {{ name }}, {{ place }}"}}
    template = {
        "config": {"dimensions": SIZE, "duration": 1, "layers": [layer]},
        "inputs": {"name": "required|string", "place": "string"},
        "default_values": {"name": "you", "place": "London"},
    }
    config = read(tmp_path, template, data='{"name": "Ada"}').config
    assert config.layers[0].text.text == "Hello Ada, London"  # type: ignore[attr-defined]


def test_data_for_a_config_without_inputs_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="has no inputs, so --data has no effect"):
        read(tmp_path, {"dimensions": SIZE, "duration": 1}, data="{}")


def test_the_extension_and_the_time_of_a_still_are_those_of_the_command(tmp_path: Path) -> None:
    value = {"dimensions": SIZE, "duration": 1, "extension": "gif", "time": 0.1}
    config = read(tmp_path, value, at_ms=250).config
    assert (config.extension, float(config.time_s)) == ("mp4", 0.25)


@pytest.mark.parametrize("text", ["", "[1]", "{", "layers"])
def test_what_is_not_a_json_object_is_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidConfig, match="the config"):
        read(tmp_path, text)
