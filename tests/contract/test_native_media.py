"""Plain <video> and <audio> that scripts play: pictures, events and what is heard, by the clock."""

from typing import Any

import pytest

from framekiln.capture.browser import Browser
from tests.support.compositions import CLIP, SONG, LoadedComposition, load_composition

pytestmark = pytest.mark.spec("4.3")

VIDEO = f'<html data-duration-ms="4000"><video id="v" width="320" src="{CLIP}"></video>'


def scripted(script: str, html: str = VIDEO) -> str:
    return f"{html}<script>{script}</script>"


def logged(script: str, *names: str) -> str:
    """A page that writes down when each event of its video comes, and where the video stands."""
    return scripted(
        f"""const seen = [], nowMs = () => Math.round(performance.now() * 1000) / 1000
        for (const name of {list(names)})
          v.addEventListener(name, () => seen.push([name, nowMs(), v.currentTime]))
        {script}"""
    )


def heard(film: LoadedComposition, film_ms: int = 4000) -> list[dict[str, Any]]:
    entries = film.page.evaluate(f"__framekiln.media({film_ms})")
    return [entry for entry in entries if entry["gain"] > 0]


def windows(film: LoadedComposition) -> list[tuple[float, ...]]:
    names = ("startMs", "endMs", "sourceInMs", "rate")
    return [tuple(entry[name] for name in names) for entry in heard(film)]


def show_all(film: LoadedComposition, count: int) -> None:
    for number in range(count):
        film.at(number, "0")


def test_a_clip_plays_at_its_playback_rate(browser: Browser) -> None:
    with load_composition(browser, scripted("v.playbackRate = 2; v.play()")) as film:
        assert [film.code(n) for n in (0, 1, 10)] == [0, 2, 20]
        assert windows(film) == [(0, 4000, 0, 2)]


def test_a_rate_may_change_while_a_clip_plays(browser: Browser) -> None:
    script = "v.play(); setTimeout(() => { v.playbackRate = 0.5; v.preservesPitch = false }, 500)"
    with load_composition(browser, scripted(script)) as film:
        assert [film.code(n) for n in range(14, 20)] == [14, 15, 15, 16, 16, 17]
        assert windows(film) == [(0, 500, 0, 1), (500, 4000, 500, 0.5)]
        assert [entry["keepsPitch"] for entry in heard(film)] == [True, False]


def test_the_default_rate_applies_to_the_next_source(browser: Browser) -> None:
    script = f'v.defaultPlaybackRate = 3; v.src = "{CLIP}"; v.play()'
    with load_composition(browser, scripted(script, VIDEO.replace("src=", "data-src="))) as film:
        assert [film.code(n) for n in (0, 5)] == [0, 15]
        assert film.page.evaluate("v.playbackRate") == 3


def test_a_clip_that_is_played_later_begins_at_that_instant(browser: Browser) -> None:
    with load_composition(browser, scripted("setTimeout(() => v.play(), 250)")) as film:
        assert not film.facts.plan["isDeclarative"]
        # Frame 8 is at 266.7 ms, when the clip is half a frame old.
        assert [film.code(n) for n in (7, 8, 9, 20)] == [0, 0, 1, 12]
        assert windows(film) == [(250, 4000, 0, 1)]


def test_events_come_in_order_and_at_their_time(browser: Browser) -> None:
    names = ("loadedmetadata", "loadeddata", "canplay", "canplaythrough", "play", "playing")
    late = ("timeupdate", "pause", "ended", "seeking", "seeked")
    with load_composition(browser, logged("v.currentTime = 9.4; v.play()", *names, *late)) as film:
        show_all(film, 19)
        seen = film.page.evaluate("seen")
        before = {"seeking", "seeked", "timeupdate", *names}
        assert {name for name, at_ms, _ in seen if at_ms == 0} == before
        assert [each for each in seen if each[1] > 0] == [
            ["timeupdate", 250, pytest.approx(9.65)],
            ["timeupdate", 500, pytest.approx(9.9)],
            ["timeupdate", 600, 10],
            ["pause", 600, 10],
            ["ended", 600, 10],
        ]
        assert film.page.evaluate("[v.ended, v.paused, v.currentTime]") == [True, True, 10]


def test_a_clip_plays_the_fragment_that_its_address_names(browser: Browser) -> None:
    page = VIDEO.replace(CLIP, f"{CLIP}#t=1,1.5").replace("<video", "<video autoplay loop")
    with load_composition(browser, page) as film:
        assert film.facts.plan["isDeclarative"]
        assert [film.code(n) for n in (0, 5, 15, 90)] == [30, 35, 45, 45]
        assert windows(film) == [(0, 500, 1000, 1)]


def test_a_fragment_pauses_its_clip_once(browser: Browser) -> None:
    names = ("seeked", "pause", "ended")
    script = 'v.autoplay = true; v.src += "#t=9,9.5"; setTimeout(() => v.play(), 700)'
    with load_composition(browser, logged(script, *names)) as film:
        show_all(film, 40)
        late = [[name, at_ms] for name, at_ms, _ in film.page.evaluate("seen")]
        assert late == [["seeked", 0], ["pause", 500], ["pause", 1200], ["ended", 1200]]
        assert film.page.evaluate(f"[v.src, v.currentSrc].every(a => a === '{CLIP}#t=9,9.5')")


def test_changes_at_the_ended_event_are_shown_in_the_same_frame(browser: Browser) -> None:
    script = "v.currentTime = 9.5; v.play(); v.onended = () => { document.title = 'over' }"
    with load_composition(browser, scripted(script)) as film:
        assert not film.facts.plan["isDeclarative"]
        assert [film.at(n, "document.title") for n in (14, 15)] == ["", "over"]


def test_changes_of_rate_and_volume_dispatch_events(browser: Browser) -> None:
    script = "setTimeout(() => { v.playbackRate = 2; v.volume = 0.5; v.muted = true }, 100)"
    with load_composition(browser, logged(script, "ratechange", "volumechange")) as film:
        show_all(film, 5)
        names = [name for name, _, _ in film.page.evaluate("seen")]
        assert names == ["ratechange", "volumechange", "volumechange"]


def test_a_clip_can_be_paused_sought_and_resumed(browser: Browser) -> None:
    script = """v.play()
      setTimeout(() => v.pause(), 300)
      setTimeout(() => { v.currentTime = 5 }, 500)
      setTimeout(() => v.play(), 700)"""
    with load_composition(browser, scripted(script)) as film:
        assert [film.code(n) for n in (8, 9, 14, 15, 20, 21, 24)] == [8, 9, 9, 150, 150, 150, 153]
        assert windows(film) == [(0, 300, 0, 1), (700, 4000, 5000, 1)]


def test_a_loop_restarts_and_dispatches_events(browser: Browser) -> None:
    script = "v.loop = true; v.currentTime = 9.8; v.play()"
    with load_composition(browser, logged(script, "seeked", "ended")) as film:
        assert [film.code(n) for n in (5, 6, 7)] == [299, 0, 1]
        late = [[name, at_ms] for name, at_ms, _ in film.page.evaluate("seen") if at_ms > 0]
        assert late == [["seeked", 200]]
        assert windows(film) == [(0, 200, 9800, 1), (200, 4000, 0, 1)]


def test_the_promise_of_play_resolves_or_rejects_as_in_browsers(browser: Browser) -> None:
    script = f"""const said = []
      v.addEventListener("playing", () => said.push("playing"))
      v.play().then(() => said.push("kept"))
      const other = new Audio("{SONG}")
      other.play().catch((error) => said.push(error.name))
      other.pause()"""
    with load_composition(browser, scripted(script)) as film:
        assert film.page.evaluate("said") == ["AbortError", "playing", "kept"]


def test_each_new_frame_calls_the_video_frame_callback(browser: Browser) -> None:
    script = """const times = []
      v.playbackRate = 0.5; v.play()
      v.requestVideoFrameCallback(function again(now, { mediaTime, presentedFrames, width }) {
        times.push([Math.round(now), mediaTime, presentedFrames, width])
        v.requestVideoFrameCallback(again)
      })"""
    with load_composition(browser, scripted(script)) as film:
        assert not film.facts.plan["isDeclarative"]
        show_all(film, 3)
        assert film.page.evaluate("times") == [
            [0, 0, 1, 320],
            [33, pytest.approx(1 / 60), 2, 320],
            [67, pytest.approx(1 / 30), 3, 320],
        ]


def test_volume_changes_in_frames_become_a_linear_fade(browser: Browser) -> None:
    script = """v.play()
      requestAnimationFrame(function fade(now) {
        v.volume = Math.max(0, 1 - now / 1000)
        if (now < 1000) requestAnimationFrame(fade)
      })"""
    with load_composition(browser, scripted(script)) as film:
        show_all(film, 40)
        (entry,) = heard(film)
        gains = entry["gains"]
        assert len(gains) == 31
        assert all(gain == pytest.approx(1 - at_ms / 1000, abs=1e-9) for at_ms, gain in gains)


def test_a_mute_takes_effect_when_it_is_set(browser: Browser) -> None:
    with load_composition(
        browser, scripted("v.play(); setTimeout(() => { v.muted = true }, 500)")
    ) as film:
        show_all(film, 17)
        assert heard(film)[0]["gains"] == [[0, 1], [500, 1], [505, 0]]


def test_an_audio_element_outside_the_document_is_heard(browser: Browser) -> None:
    script = f'setTimeout(() => new Audio("{SONG}").play(), 100)'
    with load_composition(browser, scripted(script)) as film:
        show_all(film, 5)
        assert windows(film) == [(100, 4000, 0, 1)]


def test_a_clip_that_leaves_the_page_stops(browser: Browser) -> None:
    with load_composition(browser, scripted("v.play(); setTimeout(() => v.remove(), 400)")) as film:
        show_all(film, 15)
        assert windows(film) == [(0, 400, 0, 1)]


def test_one_clip_after_another_leaves_no_gap(browser: Browser) -> None:
    script = f"""const song = new Audio("{SONG}")
      v.currentTime = 9.5004; v.play(); v.onended = () => song.play()"""
    with load_composition(browser, scripted(script)) as film:
        show_all(film, 17)
        (first, second) = windows(film)
        assert first == pytest.approx((0, 499.6, 9500.4, 1))
        assert second == (500, 4000, 0, 1)


@pytest.mark.parametrize(("timed", "source_in_ms"), [(False, 0), (True, 400)])
def test_a_clip_with_another_source_was_heard_with_the_one_before(
    browser: Browser, timed: bool, source_in_ms: int
) -> None:
    """In a group the new source is where the group is, elsewhere at its beginning."""
    page = f'<ef-timegroup duration="4s">{VIDEO}</ef-timegroup>' if timed else VIDEO
    script = f'v.play(); setTimeout(() => {{ v.src = "{SONG}"; v.play() }}, 400)'
    with load_composition(browser, scripted(script, page)) as film:
        show_all(film, 17)
        played = [(entry["src"], entry["startMs"], entry["sourceInMs"]) for entry in heard(film)]
        assert played == [(CLIP, 0, 0), (SONG, 400, source_in_ms)]
        assert heard(film)[0]["endMs"] == 400


def test_a_clip_in_a_group_follows_the_group_at_its_own_rate(browser: Browser) -> None:
    html = f"""<ef-timegroup mode="sequence" style="width:320px;height:240px">
      <ef-timegroup duration="500ms"></ef-timegroup>
      <ef-timegroup duration="1s"><video id="v" width="320" src="{CLIP}"></video></ef-timegroup>
      </ef-timegroup><script>v.playbackRate = 2</script>"""
    with load_composition(browser, html) as film:
        assert film.facts.plan["isDeclarative"]
        assert [film.code(n) for n in (15, 20)] == [0, 10]
        assert windows(film) == [(500, 1500, 0, 2)]


def test_volume_of_elements_may_change_in_frames_and_between_them(browser: Browser) -> None:
    html = f"""<ef-timegroup id="g" duration="2s" style="width:320px;height:240px">
      <ef-audio id="a" src="{SONG}"></ef-audio><ef-audio id="b" src="{SONG}"></ef-audio>
      </ef-timegroup><script>
      g.addFrameTask(({{ percentComplete }}) => a.setAttribute("volume", 1 - percentComplete))
      setTimeout(() => {{ b.mute = "" }}, 510)
      </script>"""
    with load_composition(browser, html) as film:
        show_all(film, 31)
        faded, muted = heard(film)
        gains = dict(map(tuple, faded["gains"]))
        assert gains[0] == 1
        assert gains[500] == pytest.approx(0.75)
        assert muted["gains"] == [[0, 1], [510, 1], [515, 0]]


COPIES = {
    "createImageBitmap": "createImageBitmap(v).then((copy) => to.drawImage(copy, 0, 0))",
    "VideoFrame": (
        "const f = new VideoFrame(v);to.drawImage(f, 0, 0); times.push(f.timestamp); f.close()"
    ),
}


@pytest.mark.parametrize("copy", COPIES.values(), ids=COPIES)
def test_copies_of_the_picture_of_a_video_show_the_frame_of_the_film(
    browser: Browser, copy: str
) -> None:
    html = f"""<html data-duration-ms="4000"><style>body {{ margin: 0 }}</style>
      <canvas id="c" width="320" height="240"></canvas><script>
      const v = document.createElement("video"), to = c.getContext("2d"), times = []
      v.src = "{CLIP}"; v.play()
      requestAnimationFrame(function copy() {{ {copy}; requestAnimationFrame(copy) }})
      </script>"""
    with load_composition(browser, html) as film:
        assert [film.code(n) for n in (0, 1, 10)] == [0, 1, 10]
        assert film.page.evaluate("times") in ([], [0, 33_333, 333_333])


SEEK = """requestAnimationFrame(function seek(now) {
  v.currentTime = 9; v.currentTime = now / 1000 + 1; requestAnimationFrame(seek)
})"""


def test_a_position_set_in_a_frame_is_shown_in_that_frame(browser: Browser) -> None:
    with load_composition(browser, scripted(SEEK)) as film:
        assert [film.code(n) for n in (0, 1, 2, 10)] == [30, 31, 32, 40]
        asked = [number for number, _, _ in film.host.asked]
        assert 270 not in asked


def test_a_surface_shows_a_position_set_in_the_same_frame(browser: Browser) -> None:
    html = f"""<ef-timegroup duration="2s" style="width:320px;height:240px">
      <ef-surface target="v" style="position:absolute;left:0;top:0;width:320px;height:240px">
      </ef-surface></ef-timegroup><video id="v" src="{CLIP}" style="display:none"></video>"""
    with load_composition(browser, scripted(SEEK, html)) as film:
        assert [film.code(n) for n in (0, 1, 2, 10)] == [30, 31, 32, 40]


def test_a_picture_moved_to_in_a_frame_calls_the_video_frame_callback_once(
    browser: Browser,
) -> None:
    script = f"""const seen = []
      v.requestVideoFrameCallback(function again(now, {{ mediaTime }}) {{
        seen.push([Math.round(now), Math.round(mediaTime * 30)])
        v.requestVideoFrameCallback(again)
      }})
      {SEEK}"""
    with load_composition(browser, scripted(script)) as film:
        show_all(film, 3)
        assert film.page.evaluate("seen.slice(-2)") == [[33, 31], [67, 32]]
