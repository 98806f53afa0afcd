"""Encoder and mastering settings of a config. Pure."""

from fractions import Fraction

from framekiln.capture.page import FrameSize
from framekiln.composition.layers.values import LayerConfig, MixSettings
from framekiln.engine.preset_settings import PRESET_SETTINGS
from framekiln.media.audio.mix_settings import AudioSettings, Mastering
from framekiln.media.encode.codecs import VideoCoding
from framekiln.media.encode.film_encoder import PixelLayout, VideoSettings
from framekiln.media.film_containers import film_container


def video_settings(size: FrameSize, fps: Fraction, config: LayerConfig) -> VideoSettings:
    """Return the encoder settings; if the format has alpha, the background decides its use."""
    output, effort = config.output, PRESET_SETTINGS[config.preset].video
    coding = film_container(config.extension).video
    return VideoSettings(
        size.width_px,
        size.height_px,
        fps,
        preset=effort.preset,
        crf=effort.crf if output.crf is None else output.crf,
        bits_per_s=output.video_bitrate,
        coding=coding,
        has_alpha=coding is not VideoCoding.H264 and config.background.alpha < 255,
    )


def audio_settings(config: LayerConfig) -> AudioSettings:
    """Return the settings of the encoder of the sound."""
    return PRESET_SETTINGS[config.preset].audio(film_container(config.extension).audio)


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
