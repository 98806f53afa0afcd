"""DASH (ISO/IEC 23009-1): a static MPD with a timeline of segments for each rendition."""

from fractions import Fraction
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from framekiln.media.segments.renditions import SCRUB, Outline, Rendition
from framekiln.playback.manifests.links import ManifestLinks

MEDIA_TYPE = "application/dash+xml"


def dash_manifest(outline: Outline, links: ManifestLinks) -> str:
    """Return the MPD of a source."""
    pictures = [each for each in outline.video_renditions if each.id != SCRUB]
    sets = [_adaptation_set("video", pictures, links)] if pictures else []
    if outline.audio_rendition is not None:
        sets.append(_adaptation_set("audio", [outline.audio_rendition], links))
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" minBufferTime="PT4S"'
            ' profiles="urn:mpeg:dash:profile:isoff-live:2011"'
            f' mediaPresentationDuration="{_duration(outline.duration_s)}">',
            '<Period id="1" start="PT0S">',
            *sets,
            "</Period>",
            "</MPD>",
            "",
        ]
    )


def _adaptation_set(kind: str, renditions: list[Rendition], links: ManifestLinks) -> str:
    are_aligned = len({each.bounds for each in renditions}) == 1
    language = renditions[0].language
    lang = f' lang="{language}"' if language else ""
    head = (
        f'<AdaptationSet contentType="{kind}"{lang} mimeType="{kind}/mp4" startWithSAP="1"'
        f' segmentAlignment="{str(are_aligned).lower()}">'
    )
    bodies = [_representation(each, links) for each in renditions]
    return "\n".join([head, *bodies, "</AdaptationSet>"])


def _representation(rendition: Rendition, links: ManifestLinks) -> str:
    fields = f'id="{rendition.id}" codecs="{rendition.codecs}"'
    fields += f' bandwidth="{rendition.peak_bits_per_s}"'
    channels = ""
    if rendition.size and rendition.fps:
        fps = f"{rendition.fps.numerator}/{rendition.fps.denominator}"
        fields += f' width="{rendition.size.width_px}" height="{rendition.size.height_px}"'
        fields += f' frameRate="{fps}" sar="1:1"'
    else:
        fields += f' audioSamplingRate="{rendition.rate_hz}"'
        channels = (
            "<AudioChannelConfiguration"
            ' schemeIdUri="urn:mpeg:dash:23003:3:audio_channel_configuration:2011"'
            f' value="{rendition.channels}"/>'
        )
    # `$` starts a placeholder; the query contains none, because it is percent-encoded.
    init = quoteattr(links.from_manifest(rendition.id, "init.m4s"))
    media = quoteattr(links.from_manifest(rendition.id, "$Number$.m4s"))
    return (
        f"<Representation {fields}>{channels}"
        f'<SegmentTemplate timescale="{rendition.timescale}" startNumber="1"'
        f" initialization={init} media={media}>"
        f"<SegmentTimeline>{_timeline(rendition)}</SegmentTimeline>"
        "</SegmentTemplate></Representation>"
    )


def _timeline(rendition: Rendition) -> str:
    """Return the durations, with runs of equal ones combined."""
    entries = []
    start = ' t="0"'
    for ticks, run in groupby(rendition.durations_ticks):
        more = len(list(run)) - 1
        entries.append(f'<S{start} d="{ticks}"{f" r={quoteattr(str(more))}" if more else ""}/>')
        start = ""
    return "".join(entries)


def _duration(seconds: Fraction) -> str:
    return f"PT{escape(f'{float(seconds):.6f}')}S"
