"""Bundles whose runtime plays media of the service and their own: replacements for real ones.

They demux and decode videos themselves, like such bundles: one by its file id, with index and
track, others by URL, with manifest, header and segments. In frame n they draw the current frame of
each, side by side.
"""

import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from framekiln.engine.site import Site

WIDTH, HEIGHT = 1280, 240
"""Of the film: four images of 320 by 240."""

DECODING = """
function* boxes(view, start = 0, end = view.byteLength) {
  for (let at = start; at < end; at += view.getUint32(at)) {
    const type = String.fromCharCode(...[4, 5, 6, 7].map((n) => view.getUint8(at + n)));
    yield { type, start: at + 8, end: at + view.getUint32(at), at };
  }
}

function find(view, path, skipped = {}) {
  let found = { start: 0, end: view.byteLength };
  for (const type of path) {
    const inside = [...boxes(view, found.start, found.end)];
    found = inside.find((box) => box.type === type);
    if (found === undefined) throw new Error(`no ${type}, but ${inside.map((b) => b.type)}`);
    found = { ...found, start: found.start + (skipped[type] ?? 0) };
  }
  return found;
}

function readHeader(buffer) {
  const view = new DataView(buffer);
  const media = ["moov", "trak", "mdia"];
  const mdhd = find(view, [...media, "mdhd"]);
  const timescale = view.getUint32(mdhd.start + (view.getUint8(mdhd.start) === 1 ? 20 : 12));
  const table = [...media, "minf", "stbl", "stsd", "avc1", "avcC"];
  const avcC = find(view, table, { stsd: 8, avc1: 78 });
  const trex = find(view, ["moov", "mvex", "trex"]);
  return {
    timescale,
    description: buffer.slice(avcC.start, avcC.end),
    duration: view.getUint32(trex.start + 12),
  };
}

function* samples(buffer, header) {
  const view = new DataView(buffer);
  for (const moof of boxes(view)) {
    if (moof.type !== "moof") continue;
    const [traf] = [...boxes(view, moof.start, moof.end)].filter((box) => box.type === "traf");
    const parts = [...boxes(view, traf.start, traf.end)];
    const part = (type) => parts.find((box) => box.type === type).start;
    const tfhd = part("tfhd");
    const given = view.getUint32(tfhd) & 0xffffff;
    const usual = { duration: header.duration, size: 0 };
    let at = tfhd + 8;
    if (given & 1) at += 8;
    if (given & 2) at += 4;
    if (given & 8) { usual.duration = view.getUint32(at); at += 4; }
    if (given & 16) usual.size = view.getUint32(at);
    const tfdt = part("tfdt");
    let dts = view.getUint8(tfdt) === 1 ? Number(view.getBigUint64(tfdt + 4))
      : view.getUint32(tfdt + 4);
    for (const { start: trun } of parts.filter((box) => box.type === "trun")) {
      const flags = view.getUint32(trun) & 0xffffff;
      let from = moof.at + view.getInt32(trun + 8);
      let row = trun + 12 + (flags & 4 ? 4 : 0);
      const next = (flag, otherwise) => {
        if (!(flags & flag)) return otherwise;
        row += 4;
        return view.getInt32(row - 4);
      };
      for (let n = 0; n < view.getUint32(trun + 4); n += 1) {
        const duration = next(0x100, usual.duration);
        const size = next(0x200, usual.size);
        next(0x400, 0);
        const ms = 1000 * (dts + next(0x800, 0)) / header.timescale;
        yield { ms, isKey: n === 0, data: buffer.slice(from, from + size) };
        dts += duration;
        from += size;
      }
    }
  }
}

async function decode(codec, headerBytes, segments) {
  const header = readHeader(headerBytes);
  const shown = [];
  const drawn = [];
  const decoder = new VideoDecoder({
    output: (frame) => {
      const ms = frame.timestamp / 1000;
      drawn.push(createImageBitmap(frame).then((picture) => shown.push({ ms, picture })));
      drawn.at(-1).finally(() => frame.close());
    },
    error: (reason) => window.FRAMEGEN_BRIDGE.error(reason),
  });
  decoder.configure({ codec, description: header.description });
  for (const segment of segments) {
    for (const { ms, isKey, data } of samples(segment, header)) {
      const type = isKey ? "key" : "delta";
      decoder.decode(new EncodedVideoChunk({ type, timestamp: Math.round(1000 * ms), data }));
    }
  }
  await decoder.flush();
  await Promise.all(drawn);
  return shown.sort((a, b) => a.ms - b.ms);
}
"""

_ASKING = """
const service = "https://service.example/api/v1";

async function get(address) {
  const answer = await fetch(address, { credentials: "include" });
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${await answer.text()}`);
  return answer;
}
const json = async (address) => (await get(address)).json();
const bytes = async (address) => (await get(address)).arrayBuffer();

async function byAddress(url) {
  const manifest = await json(`${service}/transcode/manifest.json?url=${encodeURIComponent(url)}`);
  const { initSegment, mediaSegment } = manifest.endpoints;
  const [video] = manifest.videoRenditions;
  const segments = [];
  for (let n = 1; n <= video.segmentDurationsMs.length; n += 1) {
    const named = mediaSegment.replace("{segmentId}", n);
    if (manifest.audioRenditions.length > 0) await get(named.replace("{rendition}", "audio"));
    segments.push(await bytes(named.replace("{rendition}", video.id)));
  }
  const header = await bytes(initSegment.replace("{rendition}", video.id));
  const whole = mediaSegment.replace("{rendition}", video.id).replace("{segmentId}.m4s", "1.mp4");
  if ((await bytes(whole)).byteLength !== header.byteLength + segments[0].byteLength) {
    throw new Error("an .mp4 is a header and a segment");
  }
  return decode(video.codec, header, segments);
}

async function byFileId(id) {
  const index = await json(`${service}/files/${id}/index`);
  for (const track of Object.values(index).filter((each) => each.type === "audio")) {
    const { offset, size } = track.segments.at(-1);
    const { byteLength } = await bytes(`${service}/files/${id}/tracks/${track.track}`);
    if (byteLength < offset + size) throw new Error(`sound ends at ${byteLength}`);
  }
  const scrub = await bytes(`${service}/files/${id}/tracks/-1`);
  if (readHeader(scrub).timescale === 0) throw new Error("no scrub track");
  const video = Object.values(index).find((each) => each.type === "video" && each.track > 0);
  const track = await bytes(`${service}/files/${id}/tracks/${video.track}`);
  const cut = ({ offset, size }) => track.slice(offset, offset + size);
  return decode(video.codec, cut(video.initSegment), video.segments.map(cut));
}
"""

_PLAYING = """
async function picture(id) {
  const blob = await (await get(`/api/v1/files/${id}`)).blob();
  return [{ ms: 0, picture: await createImageBitmap(blob) }];
}

async function checkWords(id, expected) {
  const { id: transcription, work_slice_ms } = await json(`${service}/files/${id}/transcription`);
  const number = Math.floor(expected.ms / work_slice_ms);
  const said = await json(`${service}/transcriptions/${transcription}/fragments/${number}`);
  const text = said.word_segments.map((word) => `${word.start} ${word.text}`).join();
  if (text !== expected.words) throw new Error(`heard ${text}`);
}

async function checkDetails() {
  const { tracks } = await json(`${service}/files/${own.video}`);
  if (tracks.length !== 2) throw new Error(`${tracks.length} tracks`);
  const ours = encodeURIComponent(`${location.origin}/api/v1/files/${own.video}`);
  const { durationMs } = await json(`${service}/transcode/manifest.json?url=${ours}`);
  if (durationMs !== own.durationMs) throw new Error(`it lasts ${durationMs} ms`);
  const { md5 } = await json(`/api/v1/files/md5?src=${encodeURIComponent(own.url)}`);
  if (md5 !== own.md5) throw new Error(`md5 is ${md5}`);
}

async function refusals(paths) {
  const errors = [];
  for (const path of paths) {
    const answer = await fetch(`${service}/${path}`);
    const { error, message } = await answer.json();
    errors.push([answer.status, error, message.slice(0, 24)]);
  }
  throw new Error(JSON.stringify(errors));
}

async function prepare() {
  if (own.refused) await refusals(own.refused);
  await checkDetails();
  await checkWords(own.video, own.said);
  return [
    await byFileId(own.video),
    await byAddress(own.url),
    await picture(own.image),
    await byAddress(own.inside),
  ];
}

window.EF_REGISTERED = true;
const canvas = document.querySelector("canvas").getContext("2d");
let shown = [];
window.FRAMEGEN_BRIDGE.onInitialize(() => {
  prepare().then((found) => { shown = found; window.FRAMEGEN_BRIDGE.initialized(); })
    .catch((reason) => window.FRAMEGEN_BRIDGE.error(reason));
});
window.FRAMEGEN_BRIDGE.onBeginFrame((n) => {
  shown.forEach((pictures, place) => {
    const now = pictures.findLast(({ ms }) => ms <= n * 100 + 1);
    canvas.drawImage(now.picture, 320 * place, 0);
  });
  window.FRAMEGEN_BRIDGE.frameReady(n, null);
});
"""

_OWN_FILES = """
/* Some of a source by address: the segments around a stretch of it. */
async function stretch(url, fromMs, toMs) {
  const manifest = await json(`${service}/transcode/manifest.json?url=${encodeURIComponent(url)}`);
  const { initSegment, mediaSegment } = manifest.endpoints;
  const read = async ({ id, segmentDurationsMs }) => {
    const parts = [await bytes(initSegment.replace("{rendition}", id))];
    let startMs = 0;
    let partMs = null;
    for (const [place, lengthMs] of segmentDurationsMs.entries()) {
      if (startMs < toMs && startMs + lengthMs > fromMs) {
        partMs ??= startMs;
        const named = mediaSegment.replace("{rendition}", id).replace("{segmentId}", place + 1);
        parts.push(await bytes(named));
      }
      startMs += lengthMs;
    }
    return { parts, partMs };
  };
  const [video] = manifest.videoRenditions;
  const { parts: [header, ...segments] } = await read(video);
  const pictures = await decode(video.codec, header, segments);
  if (manifest.audioRenditions.length === 0) return { pictures, heard: null, heardMs: 0 };
  const sound = await read({ ...manifest.audioRenditions[0], id: "audio" });
  return { pictures, heard: await listen(sound.parts), heardMs: sound.partMs };
}

/* A whole source by the index and the tracks of it. */
async function byIndex(src) {
  const query = `src=${encodeURIComponent(src)}`;
  const tracks = Object.values(await json(`/api/v1/files/index?${query}`));
  const read = async (type) => {
    const track = tracks.find((each) => each.type === type);
    const whole = await bytes(`/api/v1/files/track?${query}&trackId=${track.track}`);
    const cut = ({ offset, size }) => whole.slice(offset, offset + size);
    return { codec: track.codec, parts: [track.initSegment, ...track.segments].map(cut) };
  };
  const { codec, parts: [header, ...segments] } = await read("video");
  const heard = await listen((await read("audio")).parts);
  return { pictures: await decode(codec, header, segments), heard, heardMs: 0 };
}

async function listen(parts) {
  const whole = await new Blob(parts).arrayBuffer();
  return new OfflineAudioContext(2, 1, 48000).decodeAudioData(whole);
}

async function prepare() {
  if (own.by === "index") return byIndex(own.src);
  if (own.by === "id") return { pictures: await byFileId(own.src), heard: null, heardMs: 0 };
  return stretch(own.src, own.fromMs, own.fromMs + own.lengthMs);
}

window.EF_REGISTERED = true;
const canvas = document.querySelector("canvas").getContext("2d");
let shown = null;
let lastUs = 0;
window.FRAMEGEN_BRIDGE.onInitialize(({ encoderOptions }) => {
  lastUs = encoderOptions.alignedToUs;
  const begun = prepare().then((found) => { shown = found; });
  // A source that is not there is nothing to stop for: that is what makes it easy to overlook.
  begun.catch((reason) => console.warn(String(reason)))
    .then(() => window.FRAMEGEN_BRIDGE.initialized());
});

function sound() {
  const samples = new Float32Array(2 * Math.round(lastUs * 0.048));
  const first = Math.round((own.fromMs - shown.heardMs) * 48);
  const [left, right] = [0, 1].map((side) =>
    shown.heard.getChannelData(Math.min(side, shown.heard.numberOfChannels - 1)));
  for (let at = 0; 2 * at < samples.length; at += 1) {
    samples.set([left[first + at] ?? 0, right[first + at] ?? 0], 2 * at);
  }
  return samples.buffer;
}

window.FRAMEGEN_BRIDGE.onBeginFrame((n, isLast) => {
  const now = shown?.pictures.findLast(({ ms }) => ms <= own.fromMs + n * 100 + 1);
  if (now) canvas.drawImage(now.picture, 0, 0);
  window.FRAMEGEN_BRIDGE.frameReady(n, isLast && shown?.heard ? sound() : null);
});
"""

_PAGE = """<!doctype html><meta charset="utf-8"><style>body {{ margin: 0 }}</style>
<canvas width="{width}" height="{height}"></canvas>
<script type="module">const own = {own};{script}</script>"""


def packed_player(files: Mapping[str, bytes], **own: Any) -> bytes:
    """Return the bundle as it is uploaded, with its media files and settings."""
    script = DECODING + _ASKING + _PLAYING
    page = _PAGE.format(width=WIDTH, height=HEIGHT, own=json.dumps(own), script=script).encode()
    return packed({**files, "index.html": page})


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return files as a bundle."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as tar:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"./{name}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def one_source_page(src: str, *, by: str = "address", from_ms: int = 0, length_ms: int) -> str:
    """Return a page of 320 by 240 that plays a part of one source, with its audio.

    By its file id, `src` is the id, and only video is played.
    """
    own = {"src": src, "by": by, "fromMs": from_ms, "lengthMs": length_ms}
    script = DECODING + _ASKING + _OWN_FILES
    return _PAGE.format(width=320, height=240, own=json.dumps(own), script=script)


def one_source_site(folder: Path, page: str) -> Site:
    """Return the bundle of such a page; further files may be added to its folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text(page)
    return Site(folder)
