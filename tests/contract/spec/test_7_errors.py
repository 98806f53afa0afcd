"""Clause 7, errors of renders: what is wrong with `expires_at`, over HTTP."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from tests.support.app import AppHarness

pytestmark = pytest.mark.spec("7")

RENDERS = "/api/v1/renders"


def in_days(days: float) -> datetime:
    return datetime.now(UTC) + timedelta(days=days)


async def refusal(app: AppHarness, expires_at: Any) -> str:
    """Return the code of a refusal that leaves nothing behind."""
    before = await app.count_stored()
    answer = await app.client.post(RENDERS, json={"html": "<p>x", "expires_at": expires_at})
    assert answer.status_code == 400
    body = answer.json()
    assert body["field"] == "expires_at"
    assert body["message"].startswith("expires_at")
    assert await app.count_stored() == before
    return str(body["error"])


NO_DATES: list[Any] = [
    "",
    "tomorrow",
    "2030-01-31",
    "2030-13-01T00:00:00Z",
    "2030-02-30T00:00:00Z",
    "2030-01-31T25:00:00Z",
    "31.01.2030 12:00",
    "2030-01-31T12:00:00 Mars",
    "1893456000",
    1893456000,
    1893456000000.5,
    True,
    [],
    {"at": "2030-01-31T12:00:00Z"},
    "9" * 5000,
]


@pytest.mark.parametrize("expires_at", NO_DATES, ids=lambda value: repr(value)[:30])
async def test_malformed_expiry_dates_are_refused(app: AppHarness, expires_at: Any) -> None:
    assert await refusal(app, expires_at) == "invalid_datetime"


async def test_past_expiry_dates_are_refused(app: AppHarness) -> None:
    # Two hours ago, though the hands of a clock there show a later time than ours.
    elsewhere = in_days(-2 / 24).astimezone(timezone(timedelta(hours=9)))
    for instant in (in_days(-1), in_days(-1 / 86400), elsewhere):
        assert await refusal(app, instant.isoformat()) == "must_be_future"
    for written in ("1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z"):
        assert await refusal(app, written) == "must_be_future"


@pytest.mark.spec("8")
async def test_expiry_beyond_the_retention_is_refused(app: AppHarness) -> None:
    for instant in (datetime.max.replace(tzinfo=UTC), in_days(31), in_days(30.001)):
        assert await refusal(app, instant.isoformat()) == "exceeds_max_retention"


@pytest.mark.spec("2.5", "4.3", "8")
@pytest.mark.parametrize(
    "write",
    [
        lambda instant: instant.isoformat(),
        lambda instant: instant.isoformat().replace("+00:00", "Z"),
        lambda instant: instant.astimezone(timezone(timedelta(hours=-7))).isoformat(),
        # As JavaScript writes it, and as people write it who forget the zone: UTC.
        lambda instant: instant.strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        lambda instant: instant.replace(tzinfo=None).isoformat(),
        lambda instant: instant.strftime("%Y%m%dT%H%M%SZ"),
    ],
    ids=["offset", "z", "elsewhere", "javascript", "no zone", "basic"],
)
@pytest.mark.parametrize("days", [1 / 24, 29.99])
async def test_a_valid_expiry_date_is_stored_and_returned(
    app: AppHarness, write: Any, days: float
) -> None:
    instant = in_days(days).replace(microsecond=0)
    body = {"html": "<p>x", "expires_at": write(instant)}
    created = await app.client.post(RENDERS, json=body)
    assert created.status_code == 201
    info = await app.info(created.json()["id"])
    for text in (created.json()["expires_at"], info["expires_at"]):
        assert datetime.fromisoformat(text) == instant
        assert datetime.fromisoformat(text).utcoffset() == timedelta(0)


@pytest.mark.spec("2.5", "4.3")
async def test_a_render_without_expiry_is_permanent(app: AppHarness) -> None:
    for body in ({"html": "<p>x"}, {"html": "<p>x", "expires_at": None}):
        created = (await app.client.post(RENDERS, json=body)).json()
        assert created["expires_at"] is None
        assert (await app.info(created["id"]))["expires_at"] is None


async def test_renders_of_bundles_have_the_same_rules(app: AppHarness) -> None:
    answer = await app.client.post(RENDERS, json={"expires_at": "1999-01-01T00:00:00Z"})
    assert (answer.status_code, answer.json()["error"]) == (400, "must_be_future")
