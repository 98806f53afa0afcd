"""Video codings and the options of their encoders.

H264      the film that everything plays: MP4
VP9       WebM, with alpha if there is any
PRORES    MOV for editors: 4444 with alpha, 422 HQ without
LOSSLESS  exact, for formats made from the whole film at the end: GIF
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class VideoCoding(Enum):
    """Codec, container of a slice, and the pixel formats without and with alpha."""

    H264 = ("libx264", "mp4", "yuv420p", None)
    VP9 = ("libvpx-vp9", "webm", "yuv420p", "yuva420p")
    PRORES = ("prores_ks", "mov", "yuv422p10le", "yuva444p10le")
    LOSSLESS = ("ffv1", "matroska", "yuv420p", "yuva420p")

    def __init__(
        self, codec: str, container: str, pixels: str, pixels_with_alpha: str | None
    ) -> None:
        self.codec = codec
        self.container = container
        self._pixels = pixels
        self._pixels_with_alpha = pixels_with_alpha

    def pixels(self, *, has_alpha: bool) -> str:
        """Return the name of the pixel format."""
        if not has_alpha:
            return self._pixels
        assert self._pixels_with_alpha is not None, f"{self.name} knows no alpha"
        return self._pixels_with_alpha


@dataclass(frozen=True)
class EncoderEffort:
    """Speed and quality; `bits_per_s` takes precedence over `crf`, which is on x264's scale."""

    preset: str = "veryfast"
    crf: float = 18
    bits_per_s: int | None = None


# libvpx speeds that take about as long as these x264 presets.
_VP9_SPEEDS: Final = {"superfast": 8, "veryfast": 5, "medium": 2}
# Scales the CRF to equal visual quality: x264 ends at 51, VP9 at 63.
_VP9_HIGHEST_CRF: Final = 63
_VP9_STEPS: Final = _VP9_HIGHEST_CRF / 51
# Zero would be lossless, a profile that players do not support.
_LOWEST_H264_CRF: Final = 1
# Without it x264 uses arithmetic that each processor rounds differently. It costs nothing.
_SAME_EVERYWHERE: Final = "cpu-independent=1"
# With several references the weights of B-frames would depend on the distance of frames that
# `SkippedFrames` moves apart. It costs at most a hundredth of the size, in crossfades.
_NO_DISTANCES: Final = "weightb=0"
_ONE_REFERENCE: Final = {"superfast", "veryfast"}
_PEAK: Final = (3, 2)
_BUFFER_S: Final = 2


def encoder_options(
    coding: VideoCoding, effort: EncoderEffort, *, has_alpha: bool
) -> dict[str, str]:
    """Return the encoder's own options."""
    if coding is VideoCoding.H264:
        return {"preset": effort.preset, "profile": "high", **_h264_rate(effort)}
    if coding is VideoCoding.VP9:
        return _vp9(effort)
    if coding is VideoCoding.PRORES:
        profile = {"profile": "4444", "alpha_bits": "16"} if has_alpha else {"profile": "hq"}
        return {**profile, "vendor": "apl0"}
    return {"level": "3", "g": "1"}


def _h264_rate(effort: EncoderEffort) -> dict[str, str]:
    rate = effort.bits_per_s
    if rate is None:
        few = effort.preset in _ONE_REFERENCE
        return {
            "crf": f"{max(_LOWEST_H264_CRF, effort.crf):g}",
            "x264-params": _SAME_EVERYWHERE if few else f"{_SAME_EVERYWHERE}:{_NO_DISTANCES}",
        }
    # Each slice must come near the bit rate by itself, so the encoder may vary less than usual.
    return {
        "b": str(rate),
        "maxrate": str(rate * _PEAK[0] // _PEAK[1]),
        "bufsize": str(rate * _BUFFER_S),
        "x264-params": f"{_SAME_EVERYWHERE}:ratetol=0.1",
    }


def _vp9(effort: EncoderEffort) -> dict[str, str]:
    speed = _VP9_SPEEDS[effort.preset]
    options = {
        "cpu-used": str(speed),
        "deadline": "realtime" if speed > 5 else "good",
        "row-mt": "1",
        # No alternate reference frames: a slice may consist of a single frame.
        "auto-alt-ref": "0",
    }
    if effort.bits_per_s is None:
        return {**options, "b": "0", "crf": str(round(effort.crf * _VP9_STEPS))}
    rate = str(effort.bits_per_s)
    # Otherwise libvpx overspends in one slice and expects to compensate in another.
    steady = {"b": rate, "minrate": rate, "maxrate": rate}
    # Half a second of buffer, and no first frame larger than three average ones.
    return {**options, **steady, "bufsize": str(effort.bits_per_s // 2), "max-intra-rate": "300"}
