"""Combines slices and audio into the output container."""

import heapq
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import av
from av.container import InputContainer, OutputContainer

from framekiln.kit.cancellation import check_cancelled
from framekiln.media.audio.decoder import RATE_HZ
from framekiln.media.container import has_alpha_track
from framekiln.media.encode.gif import write_gif
from framekiln.media.errors import FramesMissing, SlicesDiffer
from framekiln.media.film_containers import FILM_CONTAINERS
from framekiln.media.remux.join import TimedPacket, audio_packets, join_mp4


def assemble(
    slices: Sequence[Path],
    sound: Path,
    out: Path,
    *,
    container: str,
    fps: Fraction,
    frame_count: int,
) -> None:
    """Write the film to `out`; `container` is a key of `FILM_CONTAINERS`.

    A GIF has no audio, and may leave frames out; all others must have `frame_count` frames.
    """
    muxer = FILM_CONTAINERS[container].muxer
    if muxer == "gif":
        write_gif(slices, out, fps=fps)
        return
    if muxer == "mp4":
        joined = join_mp4(slices, sound, out).frame_count
    else:
        joined = join_with_audio(slices, sound, out, muxer=muxer, fps=fps)
    if joined != frame_count:
        raise FramesMissing(
            f"the slices of this film have {joined} frames instead of {frame_count}; make it again"
        )


def assemble_task(
    args: dict[str, Any], _report: Callable[[dict[str, Any]], None]
) -> dict[str, Any]:
    """Run `assemble` in a confined child (`join_order`)."""
    slices = [Path(path) for path in args["slices"]]
    assemble(
        slices,
        Path(args["sound"]),
        Path(args["out"]),
        container=args["container"],
        fps=Fraction(args["fps"]),
        frame_count=args["frame_count"],
    )
    return {}


_OURS: Final = {"format_whitelist": "mov,mp4,matroska,webm", "protocol_whitelist": "file"}


def join_with_audio(
    slices: Sequence[Path], sound: Path, out: Path, *, muxer: str, fps: Fraction
) -> int:
    """Write the film: the video of all slices in order, and the audio. Return its frame count."""
    options = {"fflags": "+bitexact"}
    if muxer == "mov":
        options |= {"movflags": "+faststart", "movie_timescale": str(RATE_HZ)}
    with (
        _open(slices[0]) as first,
        _open(sound) as audio,
        av.open(str(out), "w", format=muxer, options=options) as film,
    ):
        pictures = _picture_packets(slices, film, first, fps)
        flows = [pictures, audio_packets(audio, film)]
        frame_count = 0
        for _, packet in heapq.merge(*flows, key=lambda timed: timed[0]):
            frame_count += packet.stream.type == "video"
            film.mux_one(packet)
    return frame_count


def _picture_packets(
    slices: Sequence[Path], film: OutputContainer, first: InputContainer, fps: Fraction
) -> Iterator[TimedPacket]:
    template = first.streams.video[0]
    stream = film.add_stream_from_template(template, opaque=True)
    stream.time_base = 1 / fps
    if has_alpha_track(template):
        stream.metadata["alpha_mode"] = "1"
    header = _header(first)

    def packets() -> Iterator[TimedPacket]:
        start = count = 0
        for path in slices:
            with _open(path) as container:
                if _header(container) != header:
                    raise SlicesDiffer(
                        f"{path.name} was encoded with other settings than {slices[0].name};"
                        " encode all slices of a film with the same ones"
                    )
                for packet in container.demux(container.streams.video[0]):
                    check_cancelled()
                    if packet.pts is None:
                        continue
                    shown = round(packet.pts * packet.time_base * fps)
                    assert shown == count - start, "a slice has every frame once, in order"
                    packet.stream = stream
                    packet.time_base = 1 / fps
                    packet.pts = packet.dts = count
                    packet.duration = 1
                    count += 1
                    yield Fraction(packet.pts) / fps, packet
            start = count

    return packets()


def _header(container: InputContainer) -> tuple[object, ...]:
    stream = container.streams.video[0]
    context = stream.codec_context
    return (context.name, context.width, context.height, bytes(context.extradata or b""))


def _open(path: Path) -> InputContainer:
    return av.open(f"file:{path}", "r", options=dict(_OURS))
