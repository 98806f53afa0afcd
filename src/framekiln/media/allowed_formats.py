"""The containers and codecs that are opened; FFmpeg's hundreds of others are refused.

Each demuxer and decoder is code that reads bytes of strangers. Some, such as playlists, also open
other files. What is not listed here is refused before any of that code runs.
`docs/api/media-formats.md` has the same lists.
"""

from typing import Final

_PCM_FORMS: Final = ("s16", "s24", "s32", "u16", "u24", "u32", "f32", "f64")

CONTAINERS: Final = {
    "MP4": "mp4",
    "MOV": "mov",
    "M4A": "m4a",
    "MKV": "matroska",
    "WebM": "webm",
    "AVI": "avi",
    "Ogg": "ogg",
    "MP3": "mp3",
    "WAV": "wav",
    "FLAC": "flac",
    "AAC": "aac",
    "GIF": "gif",
}
"""Names for people, and FFmpeg's names of their demuxers."""

VIDEO_CODECS: Final = {
    "H.264": ("h264",),
    "HEVC": ("hevc",),
    "AV1": ("libdav1d", "av1"),
    "VP8": ("vp8", "libvpx"),
    "VP9": ("vp9", "libvpx-vp9"),
    "MPEG-1": ("mpeg1video",),
    "MPEG-2": ("mpeg2video",),
    "MPEG-4 Part 2": ("mpeg4",),
    "H.263": ("h263",),
    "Theora": ("theora",),
    "ProRes": ("prores",),
    "DNxHD": ("dnxhd",),
    "DV": ("dvvideo",),
    "QuickTime Animation": ("qtrle",),
    "FFV1": ("ffv1",),
    "Motion JPEG": ("mjpeg",),
    "PNG": ("png",),
    "GIF": ("gif",),
}
"""Names for people, and FFmpeg's names of their decoders."""

AUDIO_CODECS: Final = {
    "AAC": ("aac",),
    "MP3": ("mp3float", "mp3"),
    "MP2": ("mp2float", "mp2"),
    "Opus": ("opus", "libopus"),
    "Vorbis": ("vorbis",),
    "FLAC": ("flac",),
    "ALAC": ("alac",),
    "AC-3": ("ac3",),
    "E-AC-3": ("eac3",),
    "AMR": ("amrnb", "amrwb", "libopencore_amrnb", "libopencore_amrwb"),
    "PCM": (
        *(f"pcm_{form}{order}" for form in _PCM_FORMS for order in ("le", "be")),
        *("pcm_s8", "pcm_u8", "pcm_alaw", "pcm_mulaw"),
    ),
}
"""The same for audio."""

DECODERS: Final = frozenset(
    name for codecs in (VIDEO_CODECS, AUDIO_CODECS) for names in codecs.values() for name in names
)
