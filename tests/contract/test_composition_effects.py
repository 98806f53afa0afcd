"""ef-waveform and ef-motionblur, as a real browser draws them."""

from collections.abc import Callable

import numpy as np
import pytest

from framekiln.capture.errors import PageThrew
from tests.support.composition_screen import Load, RecordingHost, scene


def tone(hz: float) -> Callable[[float, int], np.ndarray]:
    """A host's sound of one frequency, exact in time."""

    def samples(ms: float, count: int) -> np.ndarray:
        times_s = ms / 1000 - (count - np.arange(count)) / 48_000
        return np.where(times_s >= 0, 0.2 * np.sin(2 * np.pi * hz * times_s), 0)

    return samples


class TestWaveform:
    MODES = ("bars", "roundBars", "bricks", "line", "curve", "pixel", "wave", "spikes")
    PAGE = (
        '<ef-audio id=song src="https://media.example/a.mp3"></ef-audio><ef-waveform id=w'
        ' target=song style="position: absolute; inset: 0; color: rgb(255, 0, 0)"></ef-waveform>'
    )
    # Red pixels in each quarter of the width.
    INK = """(() => {
      const canvas = w.shadowRoot.querySelector("canvas");
      const { data, width, height } = canvas.getContext("2d")
        .getImageData(0, 0, canvas.width, canvas.height);
      const ink = [0, 0, 0, 0];
      for (let i = 0; i < data.length; i += 4)
        if (data[i] > 200 && data[i + 1] < 50 && data[i + 3] > 128)
          ink[Math.floor(4 * ((i / 4) % width) / width)] += 1;
      return ink.map((count) => count / (width * height / 4));
    })()"""
    STYLE = "<style>#root { width: 400px; height: 100px }</style>"

    def test_bars_are_at_the_frequency_of_the_sound(self, load: Load, host: RecordingHost) -> None:
        # 32 of 64 bins reach up to 12 kHz; the tone is in the last quarter of them.
        host.samples = tone(10_500)
        screen = load(self.STYLE + scene(self.PAGE))
        ink = screen.at(1000, self.INK)
        assert ink[3] == max(ink)
        assert ink[3] > 2 * ink[0]

    def test_silence_is_flat_and_sound_fades_out_over_the_decay(
        self, load: Load, host: RecordingHost
    ) -> None:
        sound = tone(6000)
        host.samples = lambda ms, count: (
            sound(ms, count) * (ms / 1000 - (count - np.arange(count)) / 48_000 < 1)
        )
        screen = load(self.STYLE + scene(self.PAGE))
        ink = [sum(screen.at(ms, self.INK)) for ms in (0, 1000, 1100, 1500)]
        assert ink[0] == 0
        assert ink[1] > ink[2] > 0
        assert ink[3] == 0

    @pytest.mark.parametrize("mode", MODES)
    def test_every_mode_draws_something(self, load: Load, host: RecordingHost, mode: str) -> None:
        host.samples = tone(3000)
        page = self.PAGE.replace("target", f'mode="{mode}" target')
        assert sum(load(self.STYLE + scene(page)).at(1000, self.INK)) > 0.02

    def test_a_waveform_lasts_as_long_as_its_target(self, load: Load) -> None:
        screen = load(
            scene(self.PAGE.replace("src", "sourcein=2s sourceout=5s src"), "mode=contain")
        )
        assert screen.at(0, "[w.durationMs, root.durationMs]") == [3000, 3000]

    @pytest.mark.parametrize("held", ["sourceout=1s duration=3s", "current-time=1s"])
    def test_where_the_target_is_silent_it_draws_no_sound(
        self, load: Load, host: RecordingHost, held: str
    ) -> None:
        host.samples = tone(6000)
        page = self.PAGE.replace("ef-audio", "ef-video").replace("src=", f"{held} src=")
        screen = load(self.STYLE + scene(page))
        assert sum(screen.at(1500, self.INK)) == 0

    def test_a_missing_target_is_an_error(self, load: Load) -> None:
        with pytest.raises(PageThrew, match='ef-waveform#w target="song"'):
            load(scene("<ef-waveform id=w target=song></ef-waveform>"))


class TestMotionBlur:
    MOVE = (
        "<style>body { background: black } #root { width: 640px; height: 360px }"
        "@keyframes move { to { translate: 1200px 0 } }"
        "#box { position: absolute; top: 100px; left: 100px; width: 60px; height: 60px;"
        " background: white; animation: move 1s linear both }</style>"
    )

    def test_a_moving_element_is_blurred_along_its_path(self, load: Load) -> None:
        box = "<ef-motionblur><div id=box></div></ef-motionblur>"
        picture = load(self.MOVE + scene(box)).picture(100)
        # 1200 px/s for half a thirtieth of a second: 20 px behind the box, which is at 220.
        row, column = picture[130, :, 0].astype(int), picture[:, 250, 0].astype(int)
        grey = np.flatnonzero((row > 10) & (row < 245))
        assert len(grey) >= 30
        assert 198 <= grey.min() <= 204
        assert np.all(np.diff(row[200:220]) >= 0)
        assert np.count_nonzero((column > 10) & (column < 245)) == 0

    @pytest.mark.parametrize(
        ("animation", "left_px"),
        [("none", 100), ("move 100ms both", 220), ("move 1s 2s both", 100)],
    )
    def test_a_still_element_is_not_blurred(self, load: Load, animation: str, left_px: int) -> None:
        box = "<ef-motionblur><div id=box></div></ef-motionblur>"
        still = self.MOVE.replace("1200px", "120px").replace("move 1s linear both", animation)
        row = load(still + scene(box)).picture(500)[130, :, 0]
        assert np.flatnonzero(row).tolist() == list(range(left_px, left_px + 60))
        assert np.all(row[left_px : left_px + 60] == 255)
