"""Decides which tracks are copied, and why others have to be re-encoded.

A track is copied if every current browser plays its codec and each keyframe is a clean start.
"""

from fractions import Fraction
from typing import Final

from av.audio.stream import AudioStream
from av.video.stream import VideoStream

from framekiln.media.container import has_alpha_track
from framekiln.media.decode.deinterlace import is_interlaced_order
from framekiln.media.decode.frame_properties import HDR_CURVES
from framekiln.media.tracks.packet_tally import PacketTally

# The usual 250 frames at 24 frames per second are 10.4 s.
MAX_GROUP_S: Final = Fraction(21, 2)

_PIXELS: Final = {
    "h264": {"yuv420p", "yuvj420p"},
    "vp9": {"yuv420p"},
    "av1": {"yuv420p", "yuv420p10le"},
}
_AAC_LC: Final = "LC"


def is_interlaced(stream: VideoStream) -> bool:
    """Return whether frames consist of two fields from different instants."""
    return is_interlaced_order(stream.codec_context.field_order)


def video_obstacle(stream: VideoStream, tally: PacketTally) -> str | None:
    """Return why a video track cannot be copied; None if it can."""
    allowed = _PIXELS.get(tally.codec)
    if allowed is None:
        return f"browsers do not all play {tally.codec}"
    checks = (
        (stream.pix_fmt not in allowed, f"browsers do not all play {stream.pix_fmt} pictures"),
        (is_interlaced(stream), "its pictures are interlaced"),
        (
            stream.codec_context.color_trc in HDR_CURVES,
            "not every screen shows its high dynamic range",
        ),
        (has_alpha_track(stream), "MP4 cannot hold its transparency"),
        (tally.problem is not None, tally.problem or ""),
        (not tally.is_clean, "its groups of pictures are open: not every keyframe starts afresh"),
        (
            tally.longest_group_s > MAX_GROUP_S,
            f"its keyframes are up to {float(tally.longest_group_s):.1f} s apart",
        ),
    )
    return next((why for is_so, why in checks if is_so), None)


def audio_obstacle(stream: AudioStream, tally: PacketTally) -> str | None:
    """Return why an audio track cannot be copied; None if it can."""
    if tally.codec == "opus":
        return tally.problem
    if tally.codec != "aac":
        return f"browsers do not all play {tally.codec} in MP4"
    if stream.profile != _AAC_LC:
        return f"browsers do not all play AAC of profile {stream.profile}"
    return tally.problem
