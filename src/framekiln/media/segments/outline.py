"""Probes a source once and plans its renditions: init segments, segment bounds, codecs.

It reads packets, decodes one frame and opens encoders to get their headers; nothing is encoded. The
same file always gives the same outline.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Final

from framekiln.kit.language_tag import language_tag
from framekiln.kit.media_kind import MediaKind
from framekiln.media.audio.decoder import CHANNELS, RATE_HZ
from framekiln.media.errors import UnreadableMedia
from framekiln.media.probe.probed_source import ProbedSource
from framekiln.media.probe.source import probe_source
from framekiln.media.segments.audio_segment import BITS_PER_S, FRAME_SAMPLES, frame_instants
from framekiln.media.segments.audio_segment import open_audio_encoder as open_sound_encoder
from framekiln.media.segments.cmaf import (
    CmafAudio,
    CmafVideo,
    aac_codec,
    as_avcc,
    avc_codec,
    init_segment,
)
from framekiln.media.segments.packet_scan import AudioScan, VideoScan, scan_audio, scan_video
from framekiln.media.segments.renditions import (
    AUDIO,
    MAIN,
    SEGMENT_S,
    Outline,
    Rendition,
    RenditionSize,
    longest_segment,
    main_size,
    max_bits_per_s,
    scaled_bits_per_s,
    segment_bounds,
    smaller_sizes,
    with_measured_bits,
    with_short_start,
)
from framekiln.media.segments.video_segment import open_video_encoder as open_picture_encoder

# An encoder may spend its whole buffer, one second's worth, in a single segment.
_PEAK_OVER_MOST: Final = Fraction(3, 2)
# If copied segments are hardly longer than ours, all renditions share their bounds.
_MAX_SHARED_SEGMENT_S: Final = SEGMENT_S + 2


@dataclass(frozen=True)
class _SharedTiming:
    """Timing that the encoded renditions of a source share."""

    timescale: int
    bounds: tuple[int, ...]
    fps: Fraction


def make_outline(
    pictures: Path | None, sound: Path | None, *, language: str | None = None
) -> Outline:
    """Return the renditions of a source; its tracks may be in two files, or in one.

    `language` is that of the audio, if it is known; else the file with the audio is asked.
    """
    renditions: list[Rendition] = []
    # Opening a file costs more than reading all its packets; and both may be the same file.
    facts = {path: _probe(path) for path in {pictures, sound} if path is not None}
    if pictures is not None and facts[pictures].width_px is not None:
        renditions += _picture_renditions(pictures, facts[pictures])
    if sound is not None and facts[sound].has_sound:
        scan = scan_audio(sound)
        tag = language_tag(language) or language_tag(scan.language)
        renditions.append(replace(_sound_rendition(scan, facts[sound]), language=tag))
    if not renditions:
        raise UnreadableMedia("the source has neither a video nor an audio track")
    return Outline(tuple(renditions))


def _probe(path: Path) -> ProbedSource:
    """Return the facts that films and plans use, too; refuse what has no packets to play."""
    facts = probe_source(path)
    # FFmpeg knows the times of a GIF. Of other animated pictures it has none, or wrong ones.
    is_gif = facts.kind is MediaKind.IMAGE and facts.codec == "gif"
    if facts.kind in (MediaKind.VIDEO, MediaKind.AUDIO) or is_gif:
        return facts
    raise UnreadableMedia(
        f"{path.name}: it cannot be played as video or sound, its content is"
        f" {facts.codec or 'captions'}; show it in a film, or convert it to MP4"
    )


def _picture_renditions(path: Path, facts: ProbedSource) -> list[Rendition]:
    scan = scan_video(path, facts)
    assert facts.width_px is not None
    assert facts.height_px is not None
    width_px, height_px = int(facts.width_px), int(facts.height_px)
    course = _SharedTiming(
        scan.timescale,
        segment_bounds(scan.shown, scan.end, timescale=scan.timescale),
        _mean_fps(scan),
    )
    if scan.keyframes:
        first = _copied(scan, RenditionSize(width_px, height_px), course.fps)
        if longest_segment(first.bounds) <= _MAX_SHARED_SEGMENT_S * scan.timescale:
            shared = with_short_start(first.bounds, scan.shown, timescale=scan.timescale)
            course = _SharedTiming(scan.timescale, shared, course.fps)
    else:
        first = _encoded(MAIN, main_size(width_px, height_px), course)
    assert first.size is not None
    lesser = smaller_sizes(width_px, height_px, first.size)
    main = first if first.is_copy else None
    return [first, *(_encoded(name, size, course, main) for name, size in lesser.items())]


def _mean_fps(scan: VideoScan) -> Fraction:
    """Return the mean rate, or a broadcast rate that is practically equal."""
    mean = Fraction(len(scan.shown) * scan.timescale, scan.end - scan.first_start)
    for base in (24, 25, 30, 48, 50, 60, 120):
        for rate in (Fraction(base), Fraction(base * 1000, 1001)):
            if abs(mean - rate) * 5000 < rate:
                return rate
    return mean.limit_denominator(1001)


def _copied(scan: VideoScan, size: RenditionSize, fps: Fraction) -> Rendition:
    bounds = segment_bounds(scan.keyframes, scan.end, timescale=scan.timescale)
    avcc = scan.parameter_sets
    rendition = Rendition(
        id=MAIN,
        is_copy=True,
        codecs=avc_codec(avcc),
        timescale=scan.timescale,
        bounds=bounds,
        init=init_segment(
            CmafVideo(size.width_px, size.height_px, avcc),
            timescale=scan.timescale,
            skipped=scan.delay,
        ),
        delay=scan.delay,
        peak_bits_per_s=0,
        mean_bits_per_s=0,
        size=size,
        fps=fps,
    )
    return with_measured_bits(
        rendition, _bytes_between(bounds, instants=scan.keyframes, sizes=scan.group_bytes)
    )


def _encoded(
    name: str, size: RenditionSize, course: _SharedTiming, main: Rendition | None = None
) -> Rendition:
    most = max_bits_per_s(size, course.fps)
    if main is not None and main.size is not None:
        # A smaller rendition must not need more bits than the source itself.
        most = min(most, scaled_bits_per_s(main.mean_bits_per_s, of=main.size, size=size))
    encoder = open_picture_encoder(
        name, size, timescale=course.timescale, fps=course.fps, bits_per_s=most
    )
    avcc = as_avcc(bytes(encoder.extradata or b""))
    header = CmafVideo(size.width_px, size.height_px, avcc, is_bt709=True)
    return Rendition(
        id=name,
        is_copy=False,
        codecs=avc_codec(avcc),
        timescale=course.timescale,
        bounds=course.bounds,
        init=init_segment(header, timescale=course.timescale),
        peak_bits_per_s=round(most * _PEAK_OVER_MOST),
        mean_bits_per_s=most,
        size=size,
        fps=course.fps,
    )


def _sound_rendition(scan: AudioScan, facts: ProbedSource) -> Rendition:
    if scan.packets:
        return _copied_sound(scan)
    config = bytes(open_sound_encoder().extradata or b"")
    end_s = scan.end_s
    if facts.kind is MediaKind.AUDIO and facts.duration_s is not None:
        # The last packets hold padding, too. A track file's duration includes what its edit list
        # cuts off; a video's is that of its longest track.
        end_s = min(end_s, facts.duration_s)
    instants = frame_instants(end_s)
    return Rendition(
        id=AUDIO,
        is_copy=False,
        codecs=aac_codec(config),
        timescale=RATE_HZ,
        bounds=segment_bounds(instants, instants[-1] + FRAME_SAMPLES, timescale=RATE_HZ),
        init=init_segment(CmafAudio(CHANNELS, RATE_HZ, config), timescale=RATE_HZ),
        peak_bits_per_s=round(BITS_PER_S * _PEAK_OVER_MOST),
        mean_bits_per_s=BITS_PER_S,
        channels=CHANNELS,
        rate_hz=RATE_HZ,
        grid=(scan.grid.first_s, scan.grid.packet_s) if scan.grid else None,
    )


def _copied_sound(scan: AudioScan) -> Rendition:
    header = CmafAudio(scan.channels, scan.timescale, scan.config)
    end = round(scan.end_s * scan.timescale)
    bounds = segment_bounds(scan.packets, end, timescale=scan.timescale)
    rendition = Rendition(
        id=AUDIO,
        is_copy=True,
        codecs=aac_codec(scan.config),
        timescale=scan.timescale,
        bounds=bounds,
        init=init_segment(header, timescale=scan.timescale),
        peak_bits_per_s=0,
        mean_bits_per_s=0,
        channels=scan.channels,
        rate_hz=scan.timescale,
    )
    sizes = _bytes_between(bounds, instants=scan.packets, sizes=scan.packet_bytes)
    return with_measured_bits(rendition, sizes)


def _bytes_between(bounds: tuple[int, ...], *, instants: list[int], sizes: list[int]) -> list[int]:
    """Return the size of each segment in bytes."""
    sums = []
    place = 0
    for _, end in pairwise(bounds):
        first = place
        while place < len(instants) and instants[place] < end:
            place += 1
        sums.append(sum(sizes[first:place]))
    return sums
