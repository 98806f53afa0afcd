"""Which bundles are left to the runtime they bring."""

import pytest

from framekiln.composition.own_runtime import brings_own_runtime

DRIVEN = [
    b"const b=window.FRAMEGEN_BRIDGE;b&&b.onInitialize(x)",
    b'(t=window)["FRAMEGEN_BRIDGE"]?.frameReady(0,e)',
    b"window.EF_FRAMEGEN=new a",
    b"<!doctype html><script>globalThis.EF_FRAMEGEN = {}</script>",
    b"\xff\xfe not UTF-8, EF_FRAMEGEN all the same",
]
LEFT_TO_US = [
    b"",
    b"<ef-timegroup mode=fixed duration=5s></ef-timegroup>",
    b"customElements.define('ef-timegroup', class extends HTMLElement {})",
    b"while (!window.EF_REGISTERED) await frame()",
    b"const data = window.EF_RENDER_DATA",
    b"framegen_bridge EF_FRAME GEN",
]


@pytest.mark.parametrize("text", DRIVEN)
def test_a_runtime_that_can_be_driven_is(text: bytes) -> None:
    assert brings_own_runtime([text])
    assert brings_own_runtime([*LEFT_TO_US, text])


@pytest.mark.parametrize("text", LEFT_TO_US)
def test_other_bundles_use_our_elements(text: bytes) -> None:
    assert not brings_own_runtime([text])


def test_nothing_brings_nothing() -> None:
    assert not brings_own_runtime([])
