"""Light of high dynamic range on an ordinary screen, against the same thing worked out by hand."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.hdr_clips import codes_of, hlg_signal, picture_of, pq_signal

from framekiln.media.decode.frame_converter import sdr_converter_for
from framekiln.media.decode.frame_properties import plane_of
from framekiln.media.decode.tone_mapping import Bt2020Transfer, ToneMapping, TransferCurve

PQ, HLG = Bt2020Transfer(TransferCurve.PQ), Bt2020Transfer(TransferCurve.HLG)
GREYS = np.array([0, 0.5, 1, 5, 26, 50, 100, 203, 400, 700, 1000], float)[:, None].repeat(3, 1)
TO_2020 = np.linalg.inv(
    [[1.6605, -0.5876, -0.0728], [-0.1246, 1.1329, -0.0083], [-0.0182, -0.1006, 1.1187]]
)


def mapped(signal: NDArray[np.float64], light: Bt2020Transfer) -> NDArray[np.float64]:
    red, green, blue = np.moveaxis(signal.astype(np.float32), -1, 0)
    return np.stack(ToneMapping(light).apply((red, green, blue)), axis=-1).astype(float)


def pq_nits(signal: float) -> float:
    power = signal ** (1 / 78.84375)
    return 10_000 * (max(power - 0.8359375, 0) / (18.8515625 - 18.6875 * power)) ** (
        1 / 0.1593017578125
    )


def expected_nits(nits: float, peak_nits: float) -> float:
    """BT.2390 for one grey, then BT.1886."""
    if nits == 0:
        return 0.0
    peak, white, here = (float(pq_signal(np.array(x))) for x in (peak_nits, 203.0, nits))
    level, top = min(here / peak, 1), white / peak
    knee = 1.5 * top - 0.5
    if level > knee:
        t = (level - knee) / (1 - knee)
        level = (
            (2 * t**3 - 3 * t**2 + 1) * knee
            + (t**3 - 2 * t**2 + t) * (1 - knee)
            + (-2 * t**3 + 3 * t**2) * top
        )
    return float((pq_nits(level * peak) / 203) ** (1 / 2.4))


@pytest.mark.parametrize(
    "light", [PQ, Bt2020Transfer(TransferCurve.PQ, 4000), HLG], ids=["pq", "pq 4000", "hlg"]
)
def test_greys_stay_grey_and_are_as_bright_as_the_recommendation_says(
    light: Bt2020Transfer,
) -> None:
    signal = hlg_signal(GREYS) if light.curve is TransferCurve.HLG else pq_signal(GREYS)
    made = mapped(signal, light)
    assert np.ptp(made, axis=-1).max() < 0.002
    wanted = [expected_nits(nits, light.peak_nits) for nits in GREYS[:, 0]]
    assert np.abs(made[:, 1] - wanted).max() < 0.004


def test_diffuse_white_is_nearly_white_and_highlights_stay_distinct() -> None:
    assert mapped(np.full((1, 3), 0.5807), PQ)[0, 0] == pytest.approx(0.903, abs=0.004)
    assert mapped(np.full((1, 3), 0.75), HLG)[0, 0] == pytest.approx(0.903, abs=0.004)
    ramp = mapped(np.linspace(0, 0.7518, 200)[:, None].repeat(3, 1), PQ)[:, 0]
    assert (np.diff(ramp) >= 0).all()
    assert ramp[0] == 0
    assert ramp[-1] == pytest.approx(1, abs=0.002)


@pytest.mark.parametrize("light", [PQ, HLG], ids=["pq", "hlg"])
def test_colours_that_both_can_show_keep_their_hue_and_saturation(light: Bt2020Transfer) -> None:
    wanted = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0.5, 0.2], [0.1, 0.6, 0.9]], float)
    nits = np.maximum(wanted @ TO_2020.T, 0) * 40
    signal = hlg_signal(nits) if light is HLG else pq_signal(nits)
    made = mapped(signal, light) ** 2.4
    assert np.abs(made * 203 / 40 - wanted).max() < 0.02


def test_the_widest_colours_keep_their_order_and_stay_inside() -> None:
    made = mapped(pq_signal(np.eye(3) * 203), PQ)
    assert made.argmax(axis=1).tolist() == [0, 1, 2]
    assert made.min() >= 0
    assert made.max() <= 1
    for colour in made:
        lesser = np.sort(colour)[:2]
        assert lesser.max() < 0.45 * colour.max()


def test_wide_colours_of_ordinary_light_only_change_their_primaries() -> None:
    wanted = np.array([[0.5, 0.5, 0.5], [0.8, 0.3, 0.2], [0.2, 0.6, 0.9]])
    signal = ((wanted**2.4) @ TO_2020.T) ** (1 / 2.4)
    assert np.abs(mapped(signal, Bt2020Transfer(TransferCurve.SCREEN)) - wanted).max() < 0.005


@pytest.mark.parametrize("light", [PQ, HLG], ids=["pq", "hlg"])
@pytest.mark.parametrize("size", [(64, 96), (37, 51)])
def test_planes_equal_a_per_pixel_conversion(light: Bt2020Transfer, size: tuple[int, int]) -> None:
    y, x = np.mgrid[0 : size[0], 0 : size[1]] / 96
    nits = np.stack([x * 900, (0.5 + 0.5 * np.sin(6 * y)) * 300, (1 - x) * 500 * y], axis=-1) + 8
    codes = codes_of(hlg_signal(nits) if light is HLG else pq_signal(nits))
    made = sdr_converter_for(light).convert(picture_of(codes))
    chroma = codes[1:, ::2, ::2].repeat(2, axis=1).repeat(2, axis=2)[:, : size[0], : size[1]]
    grey, cb, cr = (codes[0] - 64) / 876, (chroma[0] - 512.0) / 896, (chroma[1] - 512.0) / 896
    signal = np.stack([grey + 1.4746 * cr, grey - 0.16455 * cb - 0.57135 * cr, grey + 1.8814 * cb])
    rgb = mapped(np.moveaxis(signal, 0, -1), light)
    luma = rgb @ (0.2126, 0.7152, 0.0722)
    off = np.abs(plane_of(made, 0, np.uint8) - (16 + 219 * luma))
    # Rounding alone is a quarter of a level; the colours of this picture are steep.
    assert off.mean() <= 0.7
    assert off.max() <= 6
    blue = 128 + 224 * (rgb[..., 2] - luma) / 1.8556
    assert np.abs(plane_of(made, 1, np.uint8)[:-1, :-1] - blue[:-2:2, :-2:2]).mean() <= 2.5
    assert (made.width, made.height) == (size[1], size[0])


def test_fine_texture_in_grey_is_exact_to_the_pixel() -> None:
    random = np.random.default_rng(5)
    luma = random.integers(64, 724, (32, 32))
    codes = np.stack([luma, np.full_like(luma, 512), np.full_like(luma, 512)]).astype(np.uint16)
    made = sdr_converter_for(PQ).convert(picture_of(codes))
    wanted = 16 + 219 * mapped(((luma - 64) / 876)[..., None].repeat(3, -1), PQ)[..., 1]
    assert np.abs(plane_of(made, 0, np.uint8) - wanted).max() <= 0.6
    assert (plane_of(made, 1, np.uint8) == 128).all()
    assert (plane_of(made, 2, np.uint8) == 128).all()
