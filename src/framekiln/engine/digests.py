"""Digests of what a film is made of: equal ones mean equal bytes. Values, and those of sound."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from framekiln.engine.audio_clips import LayerAudioClip, PageAudioClip
from framekiln.kit.canonical_json import sha256_digest
from framekiln.timeline import Timeline


@dataclass(frozen=True)
class FilmDigests:
    """Of the slices asked about, in their order, and of the sound; None where it cannot be told."""

    slices: tuple[str | None, ...] = ()
    sound: str | None = None
    sound_sources: Mapping[str, str] = field(default_factory=dict)
    """The digests of all that is heard, by address."""


def sound_digest(
    heard: Sequence[PageAudioClip | LayerAudioClip],
    timeline: Timeline,
    sources: Mapping[str, str],
    *,
    settings: str,
) -> str:
    """Return the digest of a mixed sound; `settings` is all that the mixer is told beside it."""
    pieces = [
        [_times(piece), sources[piece.source]]
        for piece in heard
        if isinstance(piece, LayerAudioClip)
    ]
    assert len(pieces) == len(heard), "only layers have sounds whose sources are known beforehand"
    # FFmpeg's libraries are asked for their versions: whoever only stores digests does without.
    from framekiln.engine.engine_version import engine_version  # noqa: PLC0415

    return sha256_digest(
        {
            "engine": engine_version(),
            "pieces": pieces,
            "settings": settings,
            "length_s": str(Fraction(timeline.frame_count) / timeline.fps),
        }
    )


def film_digest(slices: Sequence[str | None], sound: str | None, output: object) -> str | None:
    """Return the digest of a whole film in a container; None where a part of it has none."""
    if sound is None or not slices or None in slices:
        return None
    return sha256_digest({"slices": list(slices), "sound": sound, "output": output})


def _times(piece: LayerAudioClip) -> dict[str, object]:
    # Which layer it is of, and where its source came from, is not heard.
    return {
        name: value for name, value in piece.as_json().items() if name not in ("layer_id", "source")
    }
