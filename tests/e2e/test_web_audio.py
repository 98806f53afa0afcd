"""Sound that scripts make with Web Audio: heard at its sample, in step with the picture."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from framekiln.capture.browser import Browser
from framekiln.capture.errors import PageThrew
from framekiln.engine.film_order import FilmOrder
from framekiln.engine.film_plan import FilmSlice
from framekiln.engine.page.renderer import open_page_renderer
from tests.e2e.conftest import FilmHarness, RenderedFilm
from tests.support.libraries import with_libraries
from tests.support.looks import colour_at, decode_frames
from tests.support.sounds import Samples, av_offset_ms, decode_audio, find_beeps, rms
from tests.support.timeouts import FILM_LIMITS

RATE_HZ = 48_000
SIZE: dict[str, Any] = {"width_px": 64, "height_px": 36}
FPS = Fraction(25)


def page(script: str) -> str:
    return f"<body style='margin:0;background:#000'><script>{script}</script>"


def heard(browser: Browser, script: str, folder: Path, *, ms: int = 1000) -> Samples:
    """Return what one context made, sample by sample on the film's timeline; before any coding."""
    order = FilmOrder(page(script), **SIZE, fps=FPS, duration_ms=ms)
    samples = np.zeros((2, ms * RATE_HZ // 1000 + RATE_HZ), np.float32)
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        count = stage.plan.timeline.frame_count
        stage.render_slice(FilmSlice(0, 0, count), folder / "film.mp4", lambda _number: None)
        for sound in stage.save_page_audio(folder):
            decoded = decode_audio(sound.path)
            assert decoded.rate_hz == RATE_HZ
            first = round(sound.start_ms * RATE_HZ / 1000)
            samples[:, first : first + decoded.samples.shape[1]] += decoded.samples
    return samples[:, : ms * RATE_HZ // 1000]


def sounding(samples: Samples) -> tuple[int, int]:
    """Return the first and the last sample that is not silent."""
    places = np.flatnonzero(samples.any(axis=0))
    return int(places[0]), int(places[-1])


def pitch_hz(samples: Samples) -> float:
    spectrum = np.abs(np.fft.rfft(samples * np.hanning(samples.size)))
    return float(spectrum.argmax()) * RATE_HZ / samples.size


SOURCE = """
const context = new AudioContext();
const steady = (when, until, into = context.destination) => {
  const source = new ConstantSourceNode(context, { offset: 0.5 });
  source.connect(into);
  source.start(when);
  source.stop(until);
  return source;
};
"""


def test_an_oscillator_has_its_pitch_from_its_first_sample_to_its_last(
    browser: Browser, tmp_path: Path
) -> None:
    script = """const context = new AudioContext(), tone = context.createOscillator();
      tone.frequency.value = 1000;
      tone.connect(context.createGain()).connect(context.destination);
      tone.start(0.25); tone.stop(0.75);
      // Nobody hears what leads nowhere.
      new OscillatorNode(context, { frequency: 5000 }).start()"""
    samples = heard(browser, script, tmp_path)
    # A sine begins and ends with a zero.
    assert sounding(samples) == (12_001, 35_999)
    assert pitch_hz(samples[0, 12_000:36_000]) == pytest.approx(1000, abs=1)
    assert np.array_equal(samples[0], samples[1])


def test_gains_ramp_and_filters_work_as_in_a_player(browser: Browser, tmp_path: Path) -> None:
    script = f"""{SOURCE}
      const fade = context.createGain(), right = new StereoPannerNode(context, {{ pan: 1 }});
      fade.gain.setValueAtTime(0, 0.1);
      fade.gain.linearRampToValueAtTime(1, 0.6);
      fade.connect(new DelayNode(context, {{ delayTime: 0.1 }})).connect(right)
        .connect(context.destination);
      steady(0.1, 1, fade)"""
    left, right = heard(browser, script, tmp_path)
    line = 0.5 * np.clip((np.arange(RATE_HZ) / RATE_HZ - 0.2) / 0.5, 0, 1)
    # A panner takes one channel for both, and gives all of it to one.
    assert np.abs(right - line).max() < 1e-4
    assert np.abs(left).max() < 1e-9


def test_a_buffer_is_played_from_its_offset(browser: Browser, tmp_path: Path) -> None:
    script = """const context = new AudioContext(), data = new AudioBuffer(
        { length: 24000, numberOfChannels: 2, sampleRate: 48000 });
      for (const channel of [0, 1]) {
        const values = data.getChannelData(channel);
        for (let at = 0; at < 24000; at += 1) values[at] = (channel + 1) * at / 65536;
      }
      const source = new AudioBufferSourceNode(context, { buffer: data });
      source.connect(context.destination);
      source.start(0.5, 0.125, 0.25)"""
    samples = heard(browser, script, tmp_path)
    expected = np.zeros_like(samples)
    ramp = np.arange(6000, 18_000, dtype=np.float32) / 65536
    expected[:, 24_000:36_000] = ramp, 2 * ramp
    assert np.array_equal(samples, expected)


def test_sound_started_by_a_timer_starts_at_its_exact_sample(
    browser: Browser, tmp_path: Path
) -> None:
    script = f"""{SOURCE}
      setTimeout(() => {{
        const source = steady(context.currentTime, context.currentTime + 0.1);
        source.onended = () => setTimeout(() => {{
          // A second context counts from its own beginning.
          const other = new AudioContext();
          const late = new ConstantSourceNode(other, {{ offset: 0.25 }});
          late.connect(other.destination);
          late.start();
          if (context.currentTime !== 0.5 || other.currentTime !== 0) throw new Error("clocks");
        }}, 500 - performance.now());
      }}, 133)"""
    samples = heard(browser, script, tmp_path)
    expected = np.zeros(RATE_HZ, np.float32)
    expected[6384:11_184] = 0.5
    expected[24_000:] = 0.25
    assert np.array_equal(samples[0], expected)


def test_a_suspended_context_is_silent_until_resumed(browser: Browser, tmp_path: Path) -> None:
    script = f"""{SOURCE}
      const states = [];
      context.onstatechange = () => states.push(context.state);
      const at = (ms, call) => setTimeout(call, ms);
      steady(0, 0.4);
      at(160, () => context.suspend());
      at(480, () => context.resume());
      at(800, () => context.close().then(() => {{
        if (states.join() !== "running,suspended,running,closed") throw new Error(states.join());
        if (context.currentTime !== 0.48) throw new Error(context.currentTime);
      }}))"""
    samples = heard(browser, script, tmp_path)
    expected = np.zeros(RATE_HZ, np.float32)
    expected[:7680] = 0.5
    expected[23_040 : 23_040 + 19_200 - 7680] = 0.5
    assert np.array_equal(samples[0], expected)


def test_worklets_decoded_files_and_offline_rendering_are_waited_for(
    browser: Browser, tmp_path: Path
) -> None:
    script = """const context = new AudioContext();
      const code = `registerProcessor("half", class extends AudioWorkletProcessor {
        process(_, [[out]]) { out.fill(0.5); return true; } })`;
      const play = (buffer, when) => {
        const source = new AudioBufferSourceNode(context, { buffer });
        source.connect(context.destination);
        source.start(when);
      };
      const module = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
      context.audioWorklet.addModule(module).then(() => {
        const node = new AudioWorkletNode(context, "half");
        node.connect(context.destination);
        setTimeout(() => node.disconnect(), 200);
      });
      const length = 9600, wav = new DataView(new ArrayBuffer(44 + 2 * length));
      [0x52494646, 0, 0x57415645, 0x666d7420].forEach((word, at) => wav.setUint32(4 * at, word));
      wav.setUint32(4, 36 + 2 * length, true);
      [16, 0x10001, 48000, 96000, 0x100002].forEach((v, at) => wav.setUint32(16 + 4 * at, v, true));
      wav.setUint32(36, 0x64617461);
      wav.setUint32(40, 2 * length, true);
      for (let at = 0; at < length; at += 1) wav.setInt16(44 + 2 * at, 8192, true);
      context.decodeAudioData(wav.buffer).then((buffer) => play(buffer, 0.4));
      const offline = new OfflineAudioContext(1, 4800, 48000);
      const source = new ConstantSourceNode(offline, { offset: 0.75 });
      source.connect(offline.destination);
      source.start();
      offline.startRendering().then((buffer) => play(buffer, 0.8))"""
    samples = heard(browser, script, tmp_path)
    expected = np.zeros(RATE_HZ, np.float32)
    expected[:9600] = 0.5
    expected[19_200:28_800] = 0.25
    expected[38_400:43_200] = 0.75
    assert np.abs(samples[0] - expected).max() < 1e-4


VISUALIZER = f"""{SOURCE}
const analyser = new AnalyserNode(context, {{ fftSize: 256 }}), wave = new Float32Array(256);
analyser.connect(context.destination);
for (let beat = 0; beat < 4; beat += 1) steady(0.12 + beat / 2, 0.32 + beat / 2, analyser);
(function draw() {{
  requestAnimationFrame(draw);
  analyser.getFloatTimeDomainData(wave);
  document.body.style.background = wave[255] > 0.4 ? "#fff" : "#000";
}})()"""


def test_separate_slices_look_and_sound_like_one_film(browser: Browser, tmp_path: Path) -> None:
    order = FilmOrder(page(VISUALIZER), **SIZE, fps=FPS, duration_ms=2000)
    whole, part = tmp_path / "whole", tmp_path / "part"
    for folder, slices in (
        (whole, [FilmSlice(0, 0, 50)]),
        (part, [FilmSlice(1, 10, 5), FilmSlice(2, 30, 20)]),
    ):
        folder.mkdir()
        with open_page_renderer(order, browser, FILM_LIMITS) as stage:
            assert stage.plan.has_page_audio
            for each in slices:
                stage.render_slice(each, folder / f"{each.number}.mp4", lambda _number: None)
            (sound,) = stage.save_page_audio(folder)
            assert sound.start_ms == 120
    assert (part / "page-0.wav").read_bytes() == (whole / "page-0.wav").read_bytes()
    lit = [colour_at(frame.rgb, 32, 18)[0] > 128 for frame in decode_frames(whole / "0.mp4")]
    # The wave at a frame ends with the sample before it: light comes a frame after its beat.
    assert [n for n, is_lit in enumerate(lit) if is_lit and not lit[n - 1]] == [4, 16, 29, 41]
    late = [colour_at(frame.rgb, 32, 18)[0] > 128 for frame in decode_frames(part / "2.mp4")]
    assert late == lit[30:]


def flashing(when: str) -> str:
    return page(f"""{SOURCE}
      const beep = () => {{
        const tone = new OscillatorNode(context, {{ frequency: 1000 }});
        tone.connect(context.destination);
        tone.start();
        tone.stop(context.currentTime + 0.1);
      }};
      let was = false;
      (function draw() {{
        requestAnimationFrame(draw);
        const is = performance.now() % 1000 >= {when} && performance.now() % 1000 < {when} + 100;
        document.body.style.background = is ? "#fff" : "#000";
        if (is && !was) beep();
        was = is;
      }})()""")


def test_sound_and_picture_are_in_sync(harness: FilmHarness) -> None:
    rendered = harness.film(flashing("400"), **SIZE, fps=Fraction(30000, 1001), duration_ms=2000)
    assert av_offset_ms(rendered.path) == pytest.approx(0, abs=1)


def test_contexts_in_iframes_and_of_other_rates_are_heard(harness: FilmHarness) -> None:
    def tone(rate: int, when: float) -> str:
        return (
            f"const c = new AudioContext({{sampleRate: {rate}}}), o = c.createOscillator();"
            "o.frequency.value = 1000; o.connect(c.destination);"
            f"o.start({when}); o.stop({when} + 0.1)"
        )

    inner = f'<iframe srcdoc="<script>{tone(44_100, 0.3)}</script>"></iframe>'
    rendered = harness.film(inner + page(tone(22_050, 0.7)), **SIZE)
    sound = decode_audio(rendered.path)
    assert find_beeps(sound.mono, RATE_HZ) == pytest.approx([0.3, 0.7], abs=0.001)


TONE = """<body><script data-library="tone"></script><script>
const synth = new Tone.Synth({ oscillator: { type: "sine" } }).toDestination();
new Tone.Sequence((time, note) => synth.triggerAttackRelease(note, 0.1, time), ["A5", "E6"], 0.25)
  .start(0.25);
Tone.getTransport().start(0);
</script>"""


def test_tone_js_plays_the_same_sequence_in_every_run(harness: FilmHarness) -> None:
    """Its timers tick in a worker, which would otherwise run by the wall clock."""
    takes = [harness.film(with_libraries(TONE), **SIZE) for _ in range(2)]
    assert takes[0].path.read_bytes() == takes[1].path.read_bytes()
    samples = decode_audio(takes[0].path).mono
    assert rms(samples[:11_900]) < 0.001
    notes = [pitch_hz(samples[at : at + 4800]) for at in (12_000, 24_000, 36_000)]
    assert notes == pytest.approx([880, 1318.5, 880], abs=10)


HOWLER = """<body><script data-library="howler"></script><script>
const length = 24000, wav = new DataView(new ArrayBuffer(44 + 2 * length));
[0x52494646, 0, 0x57415645, 0x666d7420].forEach((word, at) => wav.setUint32(4 * at, word));
wav.setUint32(4, 36 + 2 * length, true);
[16, 0x10001, 48000, 96000, 0x100002].forEach((v, at) => wav.setUint32(16 + 4 * at, v, true));
wav.setUint32(36, 0x64617461);
wav.setUint32(40, 2 * length, true);
for (let at = 0; at < length; at += 1) {
  wav.setInt16(44 + 2 * at, 9000 * Math.sin(at * Math.PI / 24), true);
}
const text = Array.from(new Uint8Array(wav.buffer), (byte) => String.fromCharCode(byte)).join("");
const src = "data:audio/wav;base64," + btoa(text);
const sound = new Howl({ src: [src], sprite: { beep: [0, 100] },
  onload: () => { sound.play("beep"); setTimeout(() => sound.play("beep"), 500) },
  onloaderror: (_, problem) => { throw new Error(problem) } });
</script>"""


def test_howler_plays_decoded_files(harness: FilmHarness) -> None:
    rendered = harness.film(with_libraries(HOWLER), **SIZE)
    sound = decode_audio(rendered.path)
    assert find_beeps(sound.mono, RATE_HZ) == pytest.approx([0, 0.5], abs=0.001)


def test_an_unexpected_audio_context_causes_a_warning(browser: Browser, tmp_path: Path) -> None:
    hidden = page("setTimeout(() => { new window['Audio' + 'Context']() }, 100)")
    order = FilmOrder(hidden, **SIZE, fps=FPS, duration_ms=200)
    with open_page_renderer(order, browser, FILM_LIMITS) as stage:
        stage.render_slice(FilmSlice(0, 0, 5), tmp_path / "film.mp4", lambda _number: None)
        assert not stage.plan.has_page_audio
        (warning,) = stage.warnings()
    assert warning.startswith("an AudioContext that was not expected is not heard")


def test_the_number_of_contexts_is_limited(harness: FilmHarness) -> None:
    script = """let made = 0;
      try { for (;;) { new AudioContext(); made += 1 } } catch (error) {
        const isRefused = error.name === "NotSupportedError" && made === 64;
        if (isRefused) document.body.style.background = "#fff";
      }"""
    rendered: RenderedFilm = harness.film(page(script), **SIZE, duration_ms=100)
    assert min(colour_at(rendered.pictures[0], 32, 18)) > 240


def test_a_page_with_wrong_sample_counts_fails(browser: Browser, tmp_path: Path) -> None:
    script = f"""{SOURCE}
      const {{ round }} = Math;
      Math.round = (number) => (round(number) === 33600 ? 1e15 : round(number));
      steady(0, 1);
      context.suspend();
      setTimeout(() => context.resume(), 700)"""
    with pytest.raises(PageThrew, match="miscounts its samples: 1000000000000000 at 48000 Hz"):
        heard(browser, script, tmp_path)
