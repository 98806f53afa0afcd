"""What each `RenderPreset` means for the encoders. Pure; figures are in docs/howto/presets.md."""

from dataclasses import dataclass
from typing import Final

from framekiln.composition.render_preset import RenderPreset
from framekiln.media.audio.mix_settings import STANDARD_AUDIO_BITS_PER_S, AudioCoding, AudioSettings
from framekiln.media.encode.codecs import EncoderEffort


@dataclass(frozen=True)
class PresetSettings:
    """Encoder settings of one preset."""

    video: EncoderEffort
    audio_bits_per_s: int

    def audio(self, coding: AudioCoding) -> AudioSettings:
        """Return the settings of the sound."""
        return AudioSettings(coding, self.audio_bits_per_s)


PRESET_SETTINGS: Final = {
    RenderPreset.DRAFT: PresetSettings(EncoderEffort("superfast", 27), 128_000),
    RenderPreset.STANDARD: PresetSettings(EncoderEffort(), STANDARD_AUDIO_BITS_PER_S),
    RenderPreset.HIGH: PresetSettings(EncoderEffort("medium", 16), 256_000),
}
