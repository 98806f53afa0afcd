"""Sources are not decoded from the start; what is heard is the same, sample by sample."""

from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from av.audio.stream import AudioStream
from numpy.typing import NDArray

from framekiln.media.audio.decoder import RATE_HZ, decode_chunks, read_audio

LENGTH_S = 6
# Near the start, where nothing is left out; on no border of anything; near the end.
STARTS = (0, 7001, 30_011, 3 * RATE_HZ + 1, 4 * RATE_HZ + 12_345)
COUNT = RATE_HZ

EXACT = {
    "mp3": ("a.mp3", "libmp3lame", 44_100, {"b": "128k"}),
    # Its frames lean on many before them.
    "slow mp3": ("a.mp3", "libmp3lame", 44_100, {"b": "40k"}),
    "mp3 of one channel": ("a.mp3", "libmp3lame", 22_050, {"b": "24k"}),
    "mp3 of any rate": ("a.mp3", "libmp3lame", 48_000, {"qscale": "5"}),
    # Noise that a decoder makes up is different every time.
    "aac": ("a.aac", "aac", 44_100, {"aac_pns": "0"}),
    "vorbis": ("a.ogg", "vorbis", 44_100, {"strict": "-2"}),
    "flac in ogg": ("a.ogg", "flac", 44_100, {}),
    # These are sought. Times are samples here, and milliseconds there.
    "aac in mp4": ("a.m4a", "aac", 44_100, {"aac_pns": "0"}),
    "aac in mkv": ("a.mkv", "aac", 48_000, {"aac_pns": "0"}),
    "alac in mkv": ("a.mkv", "alac", 44_100, {}),
    # Then times are milliseconds, written as samples.
    "aac that was streamed": ("a.flv", "aac", 44_100, {"aac_pns": "0"}),
}
NEARLY: dict[str, tuple[str, str, int, dict[str, str]]] = {
    "opus": ("a.ogg", "libopus", 48_000, {}),
    "opus in webm": ("a.webm", "libopus", 48_000, {}),
}


def make_sound(path: Path, codec: str, rate_hz: int, options: dict[str, str]) -> Path:
    """A melody with some noise, so that no two places sound alike."""
    layout = "mono" if rate_hz == 22_050 else "stereo"
    noise = np.random.default_rng(5).normal(0, 0.02, (2, LENGTH_S * rate_hz))
    time_s = np.arange(LENGTH_S * rate_hz) / rate_hz
    tones = np.stack([np.sin(2500 * time_s**1.5), np.sin(1700 * time_s**1.4)])
    samples = (0.3 * tones + noise).astype(np.float32)[: 1 if layout == "mono" else 2]
    # Else one can seek every five seconds only.
    clusters = {"cluster_time_limit": "500"} if path.suffix == ".mkv" else {}
    with av.open(str(path), "w", options=clusters) as container:
        stream = container.add_stream(codec, rate=rate_hz, layout=layout, options=options)
        assert isinstance(stream, AudioStream)
        resampler = av.AudioResampler(stream.format, layout, rate_hz)
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples), "fltp", layout)
        frame.sample_rate, frame.pts, frame.time_base = rate_hz, 0, Fraction(1, rate_hz)
        frames = [*resampler.resample(frame), *resampler.resample(None)]
        fifo = av.AudioFifo()
        for each in frames:
            fifo.write(each)
        while (
            part := fifo.read(stream.codec_context.frame_size or 4096, partial=True)
        ) is not None:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path


def as_mp4(path: Path) -> Path:
    """Copy the packets, as recorders of streams do."""
    copied = path.with_suffix(".mp4")
    with av.open(path) as read, av.open(copied, "w") as written:
        stream = written.add_stream_from_template(read.streams.audio[0])
        for packet in read.demux(audio=0):
            if packet.size:
                packet.stream = stream
                written.mux(packet)
    return copied


def heard(path: Path, start: int, end: int) -> NDArray[np.float32]:
    whole = np.zeros((2, end - start), np.float32)
    for stretch in read_audio(path, start, end):
        whole[:, stretch.first - start : stretch.end - start] = stretch.samples
    return whole


@pytest.mark.parametrize("kind", [*EXACT, *NEARLY])
def test_any_range_equals_a_decode_from_the_start(kind: str, tmp_path: Path) -> None:
    name, codec, rate_hz, options = (EXACT | NEARLY)[kind]
    path = make_sound(tmp_path / name, codec, rate_hz, options)
    path = as_mp4(path) if path.suffix == ".flv" else path
    plain = heard(path, 0, LENGTH_S * RATE_HZ)
    assert np.abs(plain).max() > 0.2
    for start in STARTS:
        expected = plain[:, start : start + COUNT]
        error = np.abs(heard(path, start, start + COUNT) - expected).max()
        assert error <= (0 if kind in EXACT else 0.002), (start, error)


def test_audio_before_the_range_is_not_decoded(tmp_path: Path) -> None:
    name, codec, rate_hz, options = EXACT["mp3"]
    path = make_sound(tmp_path / name, codec, rate_hz, options)
    counts = []
    for start in (2 * RATE_HZ, 4 * RATE_HZ):
        with av.open(str(path)) as container:
            stream = container.streams.audio[0]
            leap_s = Fraction(start, RATE_HZ)
            samples = [
                each.samples.shape[1] for each in decode_chunks(container, stream, leap_s=leap_s)
            ]
        counts.append(sum(samples) + start)
    # From wherever one leaps to the end, and the first bit.
    assert counts[0] == pytest.approx(counts[1], abs=2 * 1152)
    assert counts[0] < (LENGTH_S + 1) * RATE_HZ
