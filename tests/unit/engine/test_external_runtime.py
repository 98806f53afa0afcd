"""Which bundles are left to the runtime they bring."""

import pytest

from framekiln.engine.page.external_runtime import contains_runtime

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
def test_a_bundle_with_a_bridge_has_its_own_runtime(text: bytes) -> None:
    assert contains_runtime([text])
    assert contains_runtime([*LEFT_TO_US, text])


@pytest.mark.parametrize("text", LEFT_TO_US)
def test_other_bundles_use_our_elements(text: bytes) -> None:
    assert not contains_runtime([text])


def test_an_empty_bundle_has_no_runtime() -> None:
    assert not contains_runtime([])
