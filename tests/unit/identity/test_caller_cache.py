"""The short memory of keys that were just checked."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from framekiln.identity.model import ApiKey, Caller, IssuedKey, Organization
from framekiln.identity.service import CACHE_FOR, CACHE_SIZE, CallerCache
from framekiln.kit.ids import ApiKeyId, OrganizationId

NOW = datetime(2030, 1, 1, tzinfo=UTC)
ORGANIZATION = Organization(OrganizationId(UUID(int=1)), "default", True, NOW)
KEY = ApiKey(ApiKeyId(UUID(int=2)), ORGANIZATION.id, "key", "abc", NOW, None, None)
CALLER = Caller(ORGANIZATION, KEY)


def test_callers_are_cached_for_a_limited_time() -> None:
    recent = CallerCache()
    recent.put("hash", CALLER, now=NOW, generation=0)
    assert recent.get("hash", now=NOW) is CALLER
    assert recent.get("hash", now=NOW + CACHE_FOR - timedelta(milliseconds=1)) is CALLER
    assert recent.get("hash", now=NOW + CACHE_FOR) is None
    assert recent.get("other", now=NOW) is None


def test_setting_the_clock_back_does_not_prolong_the_cache() -> None:
    recent = CallerCache()
    recent.put("hash", CALLER, now=NOW, generation=0)
    assert recent.get("hash", now=NOW - timedelta(seconds=1)) is None


def test_the_cache_has_a_maximum_size() -> None:
    recent = CallerCache()
    for number in range(CACHE_SIZE + 1):
        recent.put(str(number), CALLER, now=NOW, generation=0)
    assert recent.get("0", now=NOW) is None
    assert recent.get(str(CACHE_SIZE), now=NOW) is CALLER


def test_clear_removes_all_callers() -> None:
    recent = CallerCache()
    recent.put("hash", CALLER, now=NOW, generation=0)
    recent.clear()
    assert recent.get("hash", now=NOW) is None


def test_a_caller_that_was_read_before_the_cache_was_cleared_is_not_cached() -> None:
    recent = CallerCache()
    generation = recent.generation
    recent.clear()
    recent.put("hash", CALLER, now=NOW, generation=generation)
    assert recent.get("hash", now=NOW) is None
    recent.put("hash", CALLER, now=NOW, generation=recent.generation)
    assert recent.get("hash", now=NOW) is CALLER


def test_the_repr_of_a_new_key_hides_its_text() -> None:
    assert "ef_secret" not in repr(IssuedKey(text="ef_secret_abc", key=KEY))
