"""Clips of known light: patches of colours in nits, encoded as PQ or HLG in BT.2020.

The transfer functions are implemented again here, from the standards, in double precision.
"""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

Nits = tuple[float, float, float]

PATCH_PX = 32
FPS = 10
TRANSFERS = {"pq": "smpte2084", "hlg": "arib-std-b67"}


def pq_signal(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    """SMPTE ST 2084, with its constants as decimals."""
    light = (nits / 10_000) ** 0.1593017578125
    return ((0.8359375 + 18.8515625 * light) / (1 + 18.6875 * light)) ** 78.84375


def hlg_signal(nits: NDArray[np.float64]) -> NDArray[np.float64]:
    """BT.2100 for a display of 1000 nits: inverse OOTF to scene light, then encoded."""
    shown = nits / 1000
    luminance = (shown * (0.2627, 0.6780, 0.0593)).sum(axis=-1, keepdims=True)
    scene = shown * np.maximum(luminance, 1e-9) ** (1 / 1.2 - 1)
    log = 0.17883277 * np.log(np.maximum(12 * scene - 0.28466892, 1e-9)) + 0.55991073
    return np.where(scene <= 1 / 12, np.sqrt(3 * scene), log)


def codes_of(signal: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Return Y'CbCr of BT.2020 in 10 bits, limited range, for R'G'B' along the last axis."""
    red, green, blue = np.moveaxis(signal, -1, 0)
    luma = 0.2627 * red + 0.6780 * green + 0.0593 * blue
    planes = (
        64 + 876 * luma,
        512 + 896 * (blue - luma) / 1.8814,
        512 + 896 * (red - luma) / 1.4746,
    )
    return np.rint(np.stack(planes)).astype(np.uint16)


def picture_of(codes: NDArray[np.uint16]) -> av.VideoFrame:
    """Return three planes of one size as a 4:2:0 picture; one of four chroma values is kept."""
    height, width = codes.shape[1:]
    frame = av.VideoFrame(width, height, "yuv420p10le")
    for plane, values in zip(frame.planes, (codes[0], *codes[1:, ::2, ::2]), strict=True):
        rows = np.zeros((plane.height, plane.line_size // 2), np.uint16)
        rows[:, : plane.width] = values
        plane.update(rows.tobytes())
    return frame


def make_patches(path: Path, patches: Sequence[Nits], curve: str, *, mastered: str = "") -> Path:
    """Write half a second of squares side by side, lossless; `mastered` is for x265."""
    nits = np.repeat(np.array([patches], float), PATCH_PX, axis=0).repeat(PATCH_PX, axis=1)
    codes = codes_of(pq_signal(nits) if curve == "pq" else hlg_signal(nits))
    settings = (
        "log-level=none:pools=1:lossless=1:range=limited:colorprim=bt2020:colormatrix=bt2020nc"
        f":transfer={TRANSFERS[curve]}{mastered and ':master-display=' + mastered}"
    )
    with av.open(path, "w") as container:
        options = {"preset": "ultrafast", "x265-params": settings}
        stream = container.add_stream("libx265", rate=FPS, options=options)
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = codes.shape[2], PATCH_PX, "yuv420p10le"
        for number in range(FPS // 2):
            frame = picture_of(codes)
            frame.pts, frame.time_base = number, Fraction(1, FPS)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


def patch_centres(rgb: NDArray[np.uint8], count: int) -> NDArray[np.int64]:
    """Return the mean colour in the middle of each square of an image of any size."""
    height, width = rgb.shape[:2]
    step = width / count
    return np.array(
        [
            rgb[
                height // 4 : -height // 4,
                round((number + 0.3) * step) : round((number + 0.7) * step),
                :3,
            ].mean(axis=(0, 1))
            for number in range(count)
        ]
    ).round().astype(np.int64)  # fmt: skip
