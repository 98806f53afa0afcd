"""The HLS playlists of a source: one of all renditions, and one of segments for each."""

from framekiln.media.segments.hls_playlists import (
    HlsSegment,
    HlsSound,
    HlsVariant,
    PlaylistType,
    segment_playlist,
    variant_playlist,
)
from framekiln.media.segments.renditions import SCRUB, Outline, Rendition
from framekiln.playback.manifests.links import ManifestLinks

PLAYLIST = "playlist.m3u8"


def multivariant_playlist(outline: Outline, links: ManifestLinks) -> str:
    """Return the multivariant playlist.

    The scrub rendition is left out: players on a slow connection would choose it.
    """
    pictures = [each for each in outline.video_renditions if each.id != SCRUB]
    sound = outline.audio_rendition
    if not pictures:
        assert sound is not None
        return variant_playlist([_variant(sound, None, links)], None)
    variants = [_variant(rendition, sound, links) for rendition in pictures]
    if sound is None:
        return variant_playlist(variants, None)
    uri = links.from_manifest(sound.id, PLAYLIST)
    return variant_playlist(variants, HlsSound(uri, sound.channels, sound.language))


def media_playlist(rendition: Rendition, links: ManifestLinks) -> str:
    """Return the media playlist of a rendition."""
    durations_s = [rendition.seconds(ticks) for ticks in rendition.durations_ticks]
    return segment_playlist(
        [
            HlsSegment(duration_s, links.in_rendition(f"{number}.m4s"))
            for number, duration_s in enumerate(durations_s, start=1)
        ],
        init_uri=links.in_rendition("init.m4s"),
        target_s=max(durations_s),
        first_number=1,
        playlist_type=PlaylistType.VOD,
    )


def _variant(rendition: Rendition, sound: Rendition | None, links: ManifestLinks) -> HlsVariant:
    together = [rendition, sound] if sound else [rendition]
    size = rendition.size
    return HlsVariant(
        uri=links.from_manifest(rendition.id, PLAYLIST),
        codecs=[each.codecs for each in together],
        bits_per_s=sum(each.peak_bits_per_s for each in together),
        mean_bits_per_s=sum(each.mean_bits_per_s for each in together),
        size_px=(size.width_px, size.height_px) if size else None,
        fps=rendition.fps,
    )
