"""Pixels against the plain way: laying over, placing, bending, tinting, dissolving, dirty parts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from framekiln.compositor.adjustments import (
    INVERT,
    adjust,
    blur,
    brightness,
    contrast,
    lighten,
    saturation,
)
from framekiln.compositor.canvas import Canvas
from framekiln.compositor.masks import chroma_keyed, flipped, masked, rounded_mask
from framekiln.compositor.picture import Picture, YuvColour, crop_picture, picture_of_rgba
from framekiln.compositor.placement import PlacedPicture, place, scale_matrix, translation_matrix
from framekiln.compositor.rect import PixelRect, merge
from framekiln.compositor.scene import FilterItem, PictureItem, Scene, SceneItem
from tests.unit.compositor.reference import over, rgb_of, rgba

WHOLE = PixelRect(0, 0, 64, 48)
RED = YuvColour.of_rgb(255, 0, 0)


def solid(red: int, green: int, blue: int, width: int = 16, height: int = 16) -> Picture:
    pixels = np.zeros((height, width, 4), np.uint8)
    pixels[...] = (red, green, blue, 255)
    return picture_of_rgba(pixels)


def level(picture: Picture, x: int, y: int) -> list[int]:
    return [round(value) for value in rgb_of(picture)[y, x]]


def is_near(picture: Picture, at: tuple[int, int], rgb: tuple[int, int, int]) -> bool:
    return bool(np.abs(np.array(level(picture, *at)) - rgb).max() <= 3)


@pytest.mark.parametrize("opacity", [0.1, 0.4, 0.8])
def test_a_group_of_a_page_fades_to_the_levels_of_chromium_on_average(opacity: float) -> None:
    """Chromium cuts off fractions of red, green and blue; rounding would be half a level off."""
    greys = np.arange(256, dtype=np.uint8).repeat(2).reshape(2, 256)
    source = picture_of_rgba(np.dstack([greys, greys, greys, np.full_like(greys, 255)]))
    canvas = Canvas(256, 2)
    canvas.draw(source, opacity=opacity, is_page_group=True)
    cut_off = greys.astype(np.uint16) * (round(255 * opacity) + 1) >> 8
    apart = canvas.picture.y - (16 + cut_off * 219 / 255)
    assert abs(float(apart.mean())) < 0.1
    assert float(np.abs(apart).max()) < 1.5


class TestPictures:
    def test_planes_have_the_same_colours_as_rgb(self) -> None:
        pixels = rgba(48, 64, 1, opaque=True)
        picture = picture_of_rgba(pixels)
        assert not picture.has_alpha
        assert np.abs(rgb_of(picture) - pixels[..., :3]).mean() < 2.5

    def test_bt709_has_its_published_values(self) -> None:
        assert YuvColour.of_rgb(255, 0, 0) == YuvColour(63, 102, 240)
        assert YuvColour.of_rgb(255, 255, 255) == YuvColour(235, 128, 128)
        assert YuvColour.of_rgb(0, 0, 0) == YuvColour(16, 128, 128)

    def test_an_odd_side_gets_a_transparent_line(self) -> None:
        picture = picture_of_rgba(np.full((5, 7, 4), 255, np.uint8))
        assert (picture.width_px, picture.height_px) == (8, 6)
        assert picture.alpha is not None
        assert picture.alpha[4, 6] == 255
        assert picture.alpha[5, 0] == picture.alpha[0, 7] == 0


class TestCanvas:
    @pytest.mark.parametrize("opacity", [1.0, 0.5, 0.1])
    @pytest.mark.parametrize("opaque", [True, False])
    def test_drawing_over_equals_the_reference(self, opacity: float, opaque: bool) -> None:
        below, above = rgba(48, 64, 1, opaque=True), rgba(48, 64, 2, opaque=opaque)
        canvas = Canvas(64, 48)
        canvas.draw(picture_of_rgba(below))
        canvas.draw(picture_of_rgba(above), opacity=opacity)
        wanted = over(above, below[..., :3].astype(np.float64), opacity)
        assert np.abs(rgb_of(canvas.picture) - wanted).mean() < 2.5

    def test_transparent_pixels_add_no_light(self) -> None:
        pixels = np.zeros((16, 16, 4), np.uint8)
        pixels[..., 0] = 255
        canvas = Canvas(16, 16)
        canvas.draw(picture_of_rgba(pixels))
        assert level(canvas.picture, 8, 8) == [0, 0, 0]

    def test_a_picture_may_extend_beyond_every_edge(self) -> None:
        canvas = Canvas(64, 48)
        for at in ((-8, -8), (56, -8), (-8, 40), (56, 40), (200, 0)):
            canvas.draw(solid(255, 0, 0), at=at)
        assert is_near(canvas.picture, (0, 0), (255, 0, 0))
        assert is_near(canvas.picture, (63, 47), (255, 0, 0))
        assert level(canvas.picture, 32, 24) == [0, 0, 0]

    def test_a_group_is_the_same_as_its_members(self) -> None:
        below = picture_of_rgba(rgba(48, 64, 1, opaque=True))
        members = [picture_of_rgba(rgba(48, 64, seed)) for seed in (2, 3)]
        straight, grouped = Canvas(64, 48), Canvas(64, 48)
        group = Canvas(64, 48, has_alpha=True)
        for canvas in (straight, grouped):
            canvas.draw(below)
        for member in members:
            straight.draw(member)
            group.draw(member)
        grouped.draw(group.picture)
        assert np.abs(rgb_of(straight.picture) - rgb_of(grouped.picture)).max() < 8

    @pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 1.0])
    def test_a_dissolve_keeps_the_brightness(self, share: float) -> None:
        canvas, group = Canvas(16, 16), Canvas(16, 16, has_alpha=True)
        canvas.draw(solid(0, 0, 0))
        group.add(solid(200, 100, 50), share=1 - share)
        group.add(solid(200, 100, 50), share=share)
        canvas.draw(group.picture)
        assert is_near(canvas.picture, (8, 8), (200, 100, 50))


class TestPlacement:
    def test_a_move_by_even_pixels_copies_nothing(self) -> None:
        picture = solid(1, 2, 3)
        placed = place(picture, translation_matrix(4, 6), within=WHOLE)
        assert placed is not None
        assert placed.picture is picture
        assert (placed.left, placed.top) == (4, 6)

    @pytest.mark.parametrize(("x", "y"), [(5, 7), (4.5, 6.25), (-3, -3.5)])
    def test_any_move_places_the_centre_exactly(self, x: float, y: float) -> None:
        placed = place(
            solid(255, 255, 255), translation_matrix(x, y), within=PixelRect(-32, -32, 64, 48)
        )
        assert placed is not None
        alpha = placed.picture.with_alpha().alpha
        assert alpha is not None
        weights = alpha.astype(np.float64)
        ys, xs = np.mgrid[: alpha.shape[0], : alpha.shape[1]]
        middle = (
            placed.left + ((xs + 0.5) * weights).sum() / weights.sum(),
            placed.top + ((ys + 0.5) * weights).sum() / weights.sum(),
        )
        assert middle == pytest.approx((x + 8, y + 8), abs=0.05)
        assert weights.sum() / 255 == pytest.approx(256, rel=0.01)

    def test_an_upright_scaling_stays_opaque(self) -> None:
        placed = place(
            solid(9, 9, 9), translation_matrix(8, 8) @ scale_matrix(2, 1.5), within=WHOLE
        )
        assert placed is not None
        assert placed.rect == PixelRect(8, 8, 40, 32)
        assert not placed.picture.has_alpha

    def test_a_turn_by_a_right_angle_is_the_turned_picture(self) -> None:
        pixels = rgba(32, 32, 5, opaque=True)
        quarter = np.array([[0, -1, 32], [1, 0, 0], [0, 0, 1]], np.float64)
        placed = place(picture_of_rgba(pixels), quarter, within=WHOLE)
        assert placed is not None
        canvas = Canvas(32, 32)
        canvas.draw(placed.picture, at=(placed.left, placed.top))
        wanted = picture_of_rgba(np.rot90(pixels, -1))
        for mine, plane in zip(canvas.picture.planes, wanted.planes, strict=True):
            assert np.abs(mine.astype(int) - plane).max() <= 1

    def test_flat_and_outside_pictures_are_not_placed(self) -> None:
        picture = solid(1, 2, 3)
        assert place(picture, scale_matrix(0, 1), within=WHOLE) is None
        assert place(picture, translation_matrix(500.5, 0), within=WHOLE) is None
        behind = np.array([[1, 0, 0], [0, 1, 0], [-0.1, 0, 1]], np.float64)
        assert place(picture, behind, within=WHOLE) is None

    def test_strong_reduction_averages_pixels(self) -> None:
        pixels = np.zeros((256, 256, 4), np.uint8)
        pixels[..., 3] = 255
        pixels[::2, :, :3] = 255
        matrix = translation_matrix(3, 3) @ scale_matrix(0.1, 0.1)
        placed = place(picture_of_rgba(pixels), matrix, within=WHOLE)
        assert placed is not None
        inner = placed.picture.y[8:16, 8:16]
        assert abs(float(inner.mean()) - 125) < 4
        assert float(inner.std()) < 6

    @given(st.floats(-200, 200), st.floats(-200, 200), st.floats(0.01, 20), st.floats(-3.2, 3.2))
    @settings(max_examples=60, deadline=None)
    def test_any_matrix_gives_a_valid_placement(
        self, x: float, y: float, scale: float, turn: float
    ) -> None:
        rotation = np.array(
            [[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]]
        )
        placed = place(
            solid(1, 2, 3),
            translation_matrix(x, y) @ rotation @ scale_matrix(scale, scale),
            within=WHOLE,
        )
        if placed is not None:
            canvas = Canvas(64, 48)
            canvas.draw(placed.picture, at=(placed.left, placed.top))
            assert placed.left % 2 == placed.top % 2 == 0


class TestColours:
    @pytest.mark.parametrize(
        ("adjustment", "wanted"),
        [
            (brightness(0.5), (100, 50, 25)),
            (contrast(0.5), (164, 114, 89)),
            (saturation(0.0), (118, 118, 118)),
            (INVERT, (55, 155, 205)),
            (lighten(0.2), (211, 131, 91)),
            (brightness(0.5).then(INVERT), (155, 205, 230)),
        ],
    )
    def test_colour_adjustments_match_css(
        self, adjustment: object, wanted: tuple[int, int, int]
    ) -> None:
        changed = adjust(solid(200, 100, 50), adjustment)  # type: ignore[arg-type]
        assert is_near(changed, (8, 8), wanted)

    @pytest.mark.parametrize("sigma", [1, 5, 20])
    def test_a_blur_keeps_the_light_and_spreads_it(self, sigma: float) -> None:
        pixels = np.zeros((200, 200, 4), np.uint8)
        pixels[..., 3] = 255
        pixels[95:105, 95:105, :3] = 255
        before = picture_of_rgba(pixels)
        after = blur(before, sigma)
        light = [float((each.y.astype(np.float64) - 16).sum()) for each in (before, after)]
        assert light[1] == pytest.approx(light[0], rel=0.35 if sigma == 20 else 0.1)
        assert after.y[100, 94] > before.y[100, 94]


class TestMasks:
    def test_round_corners_are_round(self) -> None:
        mask = rounded_mask(40, 20, 10)
        assert (mask[0, 0], mask[10, 0], mask[0, 20], mask[10, 20]) == (0, 255, 255, 255)
        corner = 100 - np.pi * 100 / 4
        assert mask.astype(np.float64).sum() / 255 == pytest.approx(800 - 4 * corner, rel=0.01)

    @pytest.mark.parametrize("opaque", [255, 128, 60])
    def test_chroma_key_removes_only_the_keyed_colour(self, opaque: int) -> None:
        pixels = np.full((16, 32, 4), opaque, np.uint8)
        pixels[:, :16, :3] = (0, 255, 0)
        pixels[:, 16:, :3] = (255, 255, 255)
        key = YuvColour.of_rgb(0, 255, 0)
        picture = chroma_keyed(picture_of_rgba(pixels), key, similarity=0.2, blend=0.1)
        assert picture.alpha is not None
        assert (picture.alpha[8, 4], picture.alpha[8, 28]) == (0, opaque)

    def test_masks_hide_and_flips_mirror(self) -> None:
        picture = masked(solid(255, 0, 0), rounded_mask(16, 16, 8))
        canvas = Canvas(16, 16)
        canvas.draw(picture)
        assert level(canvas.picture, 0, 0) == [0, 0, 0]
        pixels = rgba(16, 16, 3, opaque=True)
        mirrored = flipped(picture_of_rgba(pixels), left_right=True, top_bottom=False)
        wanted = picture_of_rgba(pixels[:, ::-1])
        for mine, plane in zip(mirrored.planes, wanted.planes, strict=True):
            assert (mine == plane).all()


class TestScene:
    def laid(
        self, key: str, colour: tuple[int, int, int], x: int, opacity: float = 1.0
    ) -> PictureItem:
        return PictureItem((key, colour, x, opacity), PlacedPicture(solid(*colour), x, 8), opacity)

    def test_unchanged_items_do_not_redraw(self) -> None:
        scene = Scene(64, 48)
        things = [self.laid("a", (255, 0, 0), 0)]
        assert scene.show(things)
        assert not scene.show(list(things))

    def test_a_removed_picture_leaves_no_pixels(self) -> None:
        scene = Scene(64, 48, background=RED)
        scene.show([self.laid("a", (0, 0, 255), 8)])
        assert is_near(scene.picture, (10, 10), (0, 0, 255))
        assert scene.show([])
        assert is_near(scene.picture, (10, 10), (255, 0, 0))

    @given(
        st.lists(
            st.lists(st.tuples(st.integers(0, 4), st.integers(-4, 24)), max_size=5), max_size=6
        )
    )
    @settings(max_examples=60, deadline=None)
    def test_drawing_parts_equals_drawing_all(self, frames: list[list[tuple[int, int]]]) -> None:
        colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0), (9, 99, 199)]
        scene = Scene(64, 48)
        for frame in frames:
            things: list[SceneItem] = [
                self.laid(str(number), colours[colour], 2 * x, 1.0 if colour % 2 else 0.5)
                for number, (colour, x) in enumerate(frame)
            ]
            things.append(FilterItem("tint", saturation(0.5), PixelRect(0, 0, 32, 48)))
            scene.show(things)
            fresh = Scene(64, 48)
            fresh.show(things)
            for mine, whole in zip(scene.picture.planes, fresh.picture.planes, strict=True):
                assert (mine == whole).all()


def test_merged_rectangles_never_overlap() -> None:
    rects = [
        PixelRect(0, 0, 10, 10),
        PixelRect(20, 0, 30, 10),
        PixelRect(8, 8, 22, 12),
        PixelRect(40, 40, 40, 50),
    ]
    assert merge(rects) == [PixelRect(0, 0, 30, 12)]


def test_a_crop_shares_memory() -> None:
    picture = solid(1, 2, 3)
    part = crop_picture(picture, PixelRect(2, 2, 8, 8))
    assert np.shares_memory(part.y, picture.y)
    assert (part.width_px, part.u.shape) == (6, (3, 3))
