"""A page that is filmed hears sources exactly from their first sample, however it decodes them."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.network import PageNetwork, Resource
from framekiln.capture.page import FrameSize, open_page
from framekiln.media.segments.outline import make_outline
from framekiln.media.segments.renditions import Rendition
from framekiln.media.segments.tasks import make_segment
from tests.support.clips import Clip, make_clip
from tests.support.player_bundles import DECODING
from tests.support.timeouts import TIMEOUT_S

# Says how far what is decoded of a segment is from what is decoded of the source.
COMPARING = """
const read = async (name) => (await fetch(`https://elsewhere.example/${name}`)).arrayBuffer();

async function whole(bytes) {
  const sound = await new OfflineAudioContext(2, 1, own.rate).decodeAudioData(bytes);
  return sound.getChannelData(0);
}

/* Each frame where its own time says; what comes before zero is not heard. */
async function frameByFrame(segment, length) {
  const heard = new Float32Array(length);
  const decoder = new AudioDecoder({
    output: (frame) => {
      const part = new Float32Array(frame.numberOfFrames);
      frame.copyTo(part, { planeIndex: 0, format: "f32-planar" });
      const first = Math.round(frame.timestamp * own.rate / 1e6);
      part.forEach((value, n) => { if (first + n >= 0) heard[first + n] += value; });
      frame.close();
    },
    error: (reason) => { throw reason; },
  });
  const description = new Uint8Array(own.config);
  decoder.configure(
    { codec: "mp4a.40.2", sampleRate: own.rate, numberOfChannels: 2, description });
  for (const { ms, data } of samples(segment, { timescale: own.rate, duration: 0 })) {
    const timestamp = Math.round(1000 * ms);
    decoder.decode(new EncodedAudioChunk({ type: "key", timestamp, data }));
  }
  await decoder.flush();
  return heard;
}

async function compare() {
  const source = await whole(await read("source"));
  const [header, segment] = [await read("header"), await read("segment")];
  const heard = {
    whole: await whole(await new Blob([header, segment]).arrayBuffer()),
    frames: await frameByFrame(segment, own.length),
  };
  const worst = (found) =>
    found.reduce((most, value, n) => Math.max(most, Math.abs(value - source[n])), 0);
  window.errors = Object.fromEntries(Object.entries(heard).map(
    ([way, found]) => [way, [found.length, worst(found.subarray(0, own.length))]]));
}
window.renderReady = compare();
"""


def compared(
    browser: Browser, source: Path, rendition: Rendition, segment: bytes
) -> dict[str, Any]:
    """Have a page decode a first segment in two ways; return length and largest error of each."""
    with av.open(str(source)) as container:
        config = list(container.streams.audio[0].codec_context.extradata or b"")
    own = {"rate": rendition.rate_hz, "config": config, "length": rendition.bounds[1]}
    script = f"const own = {json.dumps(own)};{DECODING}{COMPARING}"
    page = Resource(f"<!doctype html><script>{script}</script>".encode(), "text/html")
    found = {"source": source.read_bytes(), "header": rendition.init, "segment": segment}
    network = PageNetwork(page, lambda url: Resource(found[url.rsplit("/", 1)[1]], "audio/mp4"))
    with open_page(browser, FrameSize(320, 180)) as opened:
        opened.load(network, settle_within_s=TIMEOUT_S)
        errors: dict[str, Any] = opened.evaluate("window.errors")
    return errors


@pytest.mark.spec("4.3")
@pytest.mark.parametrize("rate_hz", [44_100, 48_000])
def test_the_first_segment_of_a_page_is_heard_as_the_source_is(
    browser: Browser, tmp_path: Path, rate_hz: int
) -> None:
    """The frame that the first one overlaps was left out, so that the sound was faded in."""
    clip = Clip(video_codec=None, duration_s=Fraction(3), sample_rate_hz=rate_hz)
    source = make_clip(tmp_path / "sound.mp4", clip)
    rendition = make_outline(None, source).audio_rendition
    assert rendition is not None
    assert rendition.is_copy
    length = rendition.bounds[1]
    segment = make_segment(source, rendition, 1, is_primed=True)
    primed = compared(browser, source, rendition, segment)
    assert primed == {"whole": [length, 0], "frames": [length, 0]}
    plain = compared(browser, source, rendition, make_segment(source, rendition, 1))
    assert [found for found, _ in plain.values()] == [length, length]
    assert all(worst > 0.1 for _, worst in plain.values())


@pytest.mark.parametrize("codec", ["aac", "flac"])
def test_only_the_first_segment_is_primed(tmp_path: Path, codec: str) -> None:
    """Wherever else a page begins to decode, it takes the first sample for that of the segment."""
    name = {"aac": "sound.mp4", "flac": "sound.mkv"}[codec]
    clip = Clip(video_codec=None, duration_s=Fraction(4), audio_codec=codec)
    source = make_clip(tmp_path / name, clip)
    rendition = make_outline(None, source).audio_rendition
    assert rendition is not None
    assert rendition.is_copy is (codec == "aac")
    pairs = [
        (make_segment(source, rendition, n), make_segment(source, rendition, n, is_primed=True))
        for n in range(1, rendition.segment_count + 1)
    ]
    assert len(pairs) > 1
    assert [plain == primed for plain, primed in pairs] == [False, *[True] * (len(pairs) - 1)]
