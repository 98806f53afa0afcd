"""Playlists only grow: what was said of a film in the making stays true when it is whole."""

from fractions import Fraction

import m3u8

from framekiln.videos.hls.playlists import FilmStreams, main_playlist, media_playlist

LENGTHS_S = [Fraction(4), Fraction(4), Fraction(3, 2)]


def playlist(count: int, *, is_over: bool) -> str:
    return media_playlist("picture", LENGTHS_S[:count], target_s=Fraction(4), is_over=is_over)


def test_a_growing_playlist_is_the_beginning_of_the_whole_one() -> None:
    growing = [playlist(count, is_over=False) for count in (1, 2, 3)]
    whole = playlist(3, is_over=True)
    assert growing[1].startswith(growing[0])
    assert whole.startswith(growing[2])
    assert whole.removeprefix(growing[2]) == "#EXT-X-ENDLIST\n"


def test_a_parser_reads_all_segments() -> None:
    read = m3u8.loads(playlist(3, is_over=True))
    assert read.target_duration == 4
    assert [each.uri for each in read.segments] == [f"picture/{n}.m4s" for n in range(3)]
    assert [each.duration for each in read.segments] == [4, 4, 1.5]
    assert read.segment_map[0].uri == "picture/init.mp4"


def test_a_query_goes_with_every_address() -> None:
    text = media_playlist(
        "sound", LENGTHS_S, target_s=Fraction(4), is_over=True, query="?media_token=a.b"
    )
    read = m3u8.loads(text)
    addresses = [read.segment_map[0].uri, *(each.uri for each in read.segments)]
    assert all(address.endswith("?media_token=a.b") for address in addresses)


def test_the_main_playlist_describes_the_variant() -> None:
    film = FilmStreams("avc1.64001f", "mp4a.40.2", 1280, 720, Fraction(30000, 1001), 900_000)
    (read,) = m3u8.loads(main_playlist(film)).playlists
    assert read.stream_info.bandwidth == 900_000
    assert read.stream_info.frame_rate == 29.97
    assert read.stream_info.audio == "sound"
