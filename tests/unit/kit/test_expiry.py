"""expires_at, as the specification wants it (7)."""

from datetime import UTC, datetime, timedelta

import pytest

from framekiln.kit.errors import InvalidInput
from framekiln.kit.expiry import parse_expiry

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def test_none_means_no_expiry() -> None:
    assert parse_expiry(None, now=NOW) is None


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2030-01-02T00:00:00Z", datetime(2030, 1, 2, tzinfo=UTC)),
        ("2030-01-02T00:00:00.123+02:00", datetime(2030, 1, 1, 22, 0, 0, 123000, tzinfo=UTC)),
        ("2030-01-31T12:00:00Z", NOW + timedelta(days=30)),
    ],
)
@pytest.mark.spec("8")
def test_valid_dates_are_parsed(text: str, instant: datetime) -> None:
    assert parse_expiry(text, now=NOW) == instant


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("tomorrow", "invalid_datetime"),
        ("", "invalid_datetime"),
        ("2030-02-30T00:00:00Z", "invalid_datetime"),
        ("2030-01-02", "invalid_datetime"),
        (1893499200, "invalid_datetime"),
        (["2030-01-02T00:00:00Z"], "invalid_datetime"),
        ("2030-01-01T12:00:00Z", "must_be_future"),
        ("1990-01-01T00:00:00Z", "must_be_future"),
        ("2030-01-31T12:00:01Z", "exceeds_max_retention"),
        ("9999-12-31T23:59:59Z", "exceeds_max_retention"),
        ("9999-12-31T23:59:59-23:59", "invalid_datetime"),
    ],
)
@pytest.mark.spec("7")
def test_invalid_dates_are_refused(value: object, code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_expiry(value, now=NOW)
    assert refused.value.code == code
    assert refused.value.details["field"] == "expires_at"
