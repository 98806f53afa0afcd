"""Utility classes without a compiler in the page: Tailwind, brought by the renderer."""

import pytest

from tests.support.composition_screen import Load, RecordingHost, scene


class TestTailwind:
    def test_classes_set_the_size_of_the_root(self, load: Load, host: RecordingHost) -> None:
        screen = load('<ef-timegroup id=root duration=2s class="w-[1920px] h-[1080px]">')
        assert screen.at(0, "[root.clientWidth, root.clientHeight]") == [1920, 1080]
        assert host.asked.count("/__framekiln/tailwind.js") == 1

    def test_utility_classes_set_layout_values_and_colours(self, load: Load) -> None:
        html = scene(
            '<div id=flex class="flex items-center justify-center w-[600px] h-[100px]">'
            '<b id=dot class="w-[60px] h-5 bg-[#ff8000] opacity-50 rounded-full"></b></div>'
            '<div id=grid class="grid grid-cols-[1fr_2fr] gap-4 w-[616px]"><i></i><i></i></div>'
            '<p id=dim class="bg-black bg-opacity-50 text-[37px] font-bold text-white">x</p>'
            "<h1 id=head>x</h1>"
        )
        screen = load(html)
        style = "(id, name) => getComputedStyle(document.getElementById(id))[name]"
        box = "(({ x, y, width }) => [x, y, width])(dot.getBoundingClientRect())"
        assert screen.at(0, box) == [270, 40, 60]
        assert screen.at(0, f"({style})('dot', 'backgroundColor')") == "rgb(255, 128, 0)"
        assert screen.at(0, f"({style})('dot', 'opacity')") == "0.5"
        assert screen.at(0, f"({style})('grid', 'gridTemplateColumns')") == "200px 400px"
        assert screen.at(0, f"({style})('dim', 'fontSize')") == "37px"
        assert "0.5" in screen.at(0, f"({style})('dim', 'backgroundColor')")
        assert screen.at(0, f"({style})('head', 'marginTop')") == "0px"

    def test_scripts_further_down_see_the_layout(self, load: Load) -> None:
        script = "<script>window.seen = root.clientWidth</script>"
        screen = load(scene(script, 'duration=2s class="w-[800px] h-[450px]"'))
        assert screen.at(0, "window.seen") == 800

    def test_classes_set_by_scripts_are_styled(self, load: Load) -> None:
        screen = load(scene("<div id=late></div>", 'duration=2s class="w-[800px] h-[450px]"'))
        screen.at(0, "0")
        screen.page.evaluate("late.className = 'w-[123px]'")
        assert screen.at(100, "late.offsetWidth") == 123

    @pytest.mark.parametrize(
        "html",
        [
            # Rules of its own for classes of its own: nothing may touch its headings.
            "<style>.card { color: red }</style><h1 id=head class=card>x</h1>",
            f"<style>.title {{ color: red }}</style>{scene('<h1 id=head class=title>x</h1>')}",
            f"<style>.hidden {{ color: red }}</style>{scene('<h1 id=head class=hidden>x</h1>')}",
            f"{scene('<h1 id=head>x</h1>')}",
            '<meta name="framekiln-tailwind" content="off">'
            + scene("<h1 id=head>x</h1>", 'duration=2s class="w-[80px]"'),
            "<style>/*! tailwindcss v4.0.0 */</style>"
            + scene("<h1 id=head>x</h1>", 'duration=2s class="w-[80px]"'),
        ],
    )
    def test_pages_without_utility_classes_are_unchanged(self, load: Load, html: str) -> None:
        assert load(html).at(0, "getComputedStyle(head).marginTop") != "0px"

    @pytest.mark.parametrize(
        "html",
        [
            '<main id=box class="w-[300px]"></main>',
            "<style>main { height: 9px }</style><main id=box class='w-[300px]'></main>",
            '<script src="https://cdn.example/tailwindcss"></script><b id=box class="block w-75">',
        ],
    )
    def test_plain_pages_with_utility_classes_are_styled(self, load: Load, html: str) -> None:
        assert load(html).at(0, "box.offsetWidth") == 300

    def test_the_configuration_of_an_unreachable_cdn_script_is_applied(self, load: Load) -> None:
        head = (
            '<!doctype html><html><head><script src="https://cdn.example/tailwindcss"></script>'
            "<script>tailwind.config = { theme: { extend: { colors: { brand: '#123456' },"
            " animation: { rise: 'rise 1s linear both' },"
            " keyframes: { rise: { from: { opacity: 0 } } } } } }</script></head><body>"
        )
        box = '<b id=box class="bg-brand animate-rise">x</b>'
        screen = load(f'{head}<ef-timegroup duration="1s">{box}</ef-timegroup>')
        style = "(({ backgroundColor: c, opacity: o }) => [c, o])(getComputedStyle(box))"
        assert screen.at(200, style) == ["rgb(18, 52, 86)", "0.2"]

    def test_compiling_classes_takes_no_page_time_and_is_deterministic(self, load: Load) -> None:
        html = scene('<b class="p-4 text-red-500 animate-pulse">x</b>', "duration=1s class=w-40")
        sheet = "document.head.querySelector('style:last-of-type').textContent"
        first, second = load(html), load(html)
        assert first.at(0, "Math.round(performance.now())") == 0
        assert first.at(0, sheet) == second.at(0, sheet)
        assert ".text-red-500" in first.at(0, sheet)
