"""Facts of a Lottie animation, and what is said about a file that is none."""

from typing import Any

import pytest

from framekiln.kit.lottie import NotLottie, lottie_facts

ANIMATION = {"w": 64, "h": 36, "fr": 30, "ip": 0, "op": 60}


@pytest.mark.parametrize("first", [-30, 0, 30])
def test_an_animation_may_start_at_any_frame(first: int) -> None:
    assert lottie_facts({**ANIMATION, "ip": first}).duration_s * 30 == 60 - first


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"w": 0}, "w must be a number above 0"),
        ({"fr": "30"}, "fr must be a number above 0"),
        ({"ip": "0"}, "ip must be a number"),
        ({"op": None}, "op must be a number"),
        ({"op": 0}, "op must be more than ip, where the animation starts"),
    ],
)
def test_the_message_names_what_a_field_must_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(NotLottie) as error:
        lottie_facts({**ANIMATION, **wrong})
    assert str(error.value) == message
