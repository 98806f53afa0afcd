"""Every error says what to do about it."""

import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

import framekiln
from framekiln.api.remedies import REMEDIES, remedy_of_kind
from framekiln.identity.errors import KeyMalformed, SessionEnded, SessionMissing
from framekiln.kit.errors import FramekilnError, InvalidInput
from framekiln.settings import Settings
from tests.support.api_document import api_document
from tests.unit.client.described_service import operations_of

LOCAL = "raised at a command line or in a client, where the message says what to do"
NO_REMEDY = {
    "Interrupted": "the person who interrupted the command knows",
    "EndedBadly": LOCAL,
    "ServiceRefused": LOCAL,
    "NoSuchPipeline": LOCAL,
    "OtherService": LOCAL,
}
WITHOUT_CLASS = {"method_not_allowed", "range_not_satisfiable"}
"""Codes of the web framework and of ranges."""


def subclasses(kind: type[FramekilnError]) -> Iterator[type[FramekilnError]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


@pytest.fixture(scope="module")
def kinds() -> set[type[FramekilnError]]:
    for module in pkgutil.walk_packages(framekiln.__path__, "framekiln."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = set(subclasses(FramekilnError))
    return {each for each in found if each.__module__.startswith("framekiln.")}


def test_each_class_has_a_remedy_or_a_reason_for_none(kinds: set[type[FramekilnError]]) -> None:
    # The message and the issues of invalid input say what the field must be.
    speaking = {each for each in kinds if not issubclass(each, InvalidInput)}
    without = {each.__name__ for each in speaking if remedy_of_kind(each) is None}
    assert without == set(NO_REMEDY)


def test_remedies_are_sentences_about_existing_codes(kinds: set[type[FramekilnError]]) -> None:
    codes = {each.code for each in kinds} | {FramekilnError.code, *WITHOUT_CLASS}
    assert set(REMEDIES) - codes == set()
    assert all(re.fullmatch(r"[A-Z][^\n]{8,118}\.", each) for each in REMEDIES.values())


def test_variables_in_remedies_are_settings() -> None:
    named = set(re.findall(r"FRAMEKILN_[A-Z_]+", " ".join(REMEDIES.values())))
    assert "FRAMEKILN_BASE_URL" in named
    assert named <= {field.alias for field in Settings.model_fields.values()}


def test_routes_in_remedies_exist() -> None:
    named = set(re.findall(r"\b(?:GET|POST|DELETE) /[\w/{}.-]+\b[}]?", " ".join(REMEDIES.values())))
    assert len(named) > 20
    assert named - operations_of(api_document()) == set()


def test_a_missing_session_is_not_remedied_by_a_key() -> None:
    assert "POST /login" in str(remedy_of_kind(SessionMissing))
    assert "POST /login" in str(remedy_of_kind(SessionEnded))
    assert "valid key" in str(remedy_of_kind(KeyMalformed))


def test_invalid_input_has_no_remedy_but_its_message() -> None:
    assert remedy_of_kind(InvalidInput) is None
