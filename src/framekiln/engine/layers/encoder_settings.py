"""Encoder and mastering settings of a config. Pure."""

from fractions import Fraction
from typing import Final

from framekiln.capture.page import FrameSize
from framekiln.composition.layers.values import LayerConfig, MixSettings, Quality
from framekiln.media.audio.mix_settings import Mastering
from framekiln.media.encode.codecs import VideoCoding
from framekiln.media.encode.film_encoder import PixelLayout, VideoSettings
from framekiln.media.film_containers import film_container

_PRESETS: Final = {Quality.DRAFT: "superfast", Quality.STANDARD: "veryfast", Quality.HIGH: "medium"}
_CRFS: Final = {Quality.DRAFT: 23.0, Quality.STANDARD: 18.0, Quality.HIGH: 16.0}


def video_settings(size: FrameSize, fps: Fraction, config: LayerConfig) -> VideoSettings:
    """Return the encoder settings; if the format has alpha, the background decides its use."""
    output = config.output
    coding = film_container(config.extension).video
    return VideoSettings(
        size.width_px,
        size.height_px,
        fps,
        preset=_PRESETS[output.quality],
        crf=_CRFS[output.quality] if output.crf is None else output.crf,
        bits_per_s=output.video_bitrate,
        coding=coding,
        has_alpha=coding is not VideoCoding.H264 and config.background.alpha < 255,
    )


def buffer_layout(settings: VideoSettings) -> PixelLayout:
    """Return the buffer layout that the encoder needs."""
    return PixelLayout.YUVA420P if settings.has_alpha else PixelLayout.YUV420P


def mastering_of(audio: MixSettings) -> Mastering:
    """Return the mastering settings of the mix."""
    return Mastering(
        target_lufs=audio.target_lufs if audio.normalize else None,
        has_limiter=audio.limiter,
        is_true_peak=True,
    )
