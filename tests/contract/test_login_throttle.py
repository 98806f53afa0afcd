"""Wrong passwords slow down whoever sends them, and nobody else."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import httpx
import pytest

from framekiln.api.app import create_app
from framekiln.api.sessions import DEVICE_COOKIE
from framekiln.cli.api_server import server_config
from framekiln.identity.errors import LoginFailed, TooManyAttempts
from framekiln.identity.passwords import Passwords
from framekiln.identity.throttle import (
    AT_ONCE,
    BRIEF_DELAY_S,
    BUSY_FAILURES,
    FREE_ATTEMPTS,
    MAX_DELAY,
)
from tests.contract.conftest import TEMPLATE
from tests.support.app import BASE_URL
from tests.support.postgres import PostgresServer
from tests.support.sessions import (
    FAST_HASHER,
    PASSWORD,
    SessionHarness,
    new_sessions,
    open_session_harness,
    with_settings,
)

STRANGER = "203.0.113.9"


@pytest.fixture(scope="module")
async def place(
    postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SessionHarness]:
    folder = tmp_path_factory.mktemp("throttle")
    async with open_session_harness(postgres, folder, template=TEMPLATE) as opened:
        yield opened


async def try_login(
    browser: httpx.AsyncClient, email: str, password: str = "wrong"
) -> httpx.Response:
    return await browser.post("/login", json={"email": email, "password": password})


async def use_up(browser: httpx.AsyncClient, email: str) -> None:
    for _ in range(FREE_ATTEMPTS):
        assert (await try_login(browser, email)).status_code == 401


async def test_each_failure_of_a_network_doubles_the_delay(place: SessionHarness) -> None:
    email, browser = await place.user(), place.browser(STRANGER)
    await use_up(browser, email)
    waits = []
    for _ in range(8):
        refused = await try_login(browser, email.upper(), PASSWORD)
        assert (refused.status_code, refused.json()["error"]) == (429, "too_many_attempts")
        waits.append(int(refused.headers["retry-after"]))
        place.clock.advance(timedelta(seconds=waits[-1]))
        assert (await try_login(browser, email)).status_code == 401
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60]
    place.clock.advance(MAX_DELAY)
    assert (await try_login(browser, email, PASSWORD)).status_code == 200


async def test_failures_of_others_do_not_lock_the_owner_out(place: SessionHarness) -> None:
    email = await place.user()
    await use_up(place.browser(STRANGER), email)
    assert (await try_login(place.browser(STRANGER), email, PASSWORD)).status_code == 429
    assert (await try_login(place.browser("198.51.100.7"), email, PASSWORD)).status_code == 200


async def test_a_known_browser_is_not_delayed_in_a_throttled_network(
    place: SessionHarness,
) -> None:
    email = await place.user()
    known = place.browser(STRANGER)
    assert (await try_login(known, email, PASSWORD)).status_code == 200
    await use_up(place.browser(STRANGER), email)
    assert (await try_login(place.browser(STRANGER), email, PASSWORD)).status_code == 429
    assert (await try_login(known, email, PASSWORD)).status_code == 200
    # It has attempts of its own, but no more than anybody else.
    await use_up(known, email)
    assert (await try_login(known, email, PASSWORD)).status_code == 429


async def test_the_browser_of_one_user_is_not_known_for_another(place: SessionHarness) -> None:
    mine, other = await place.user(), await place.user()
    known = place.browser(STRANGER)
    assert (await try_login(known, mine, PASSWORD)).status_code == 200
    await use_up(place.browser(STRANGER), other)
    assert (await try_login(known, other, PASSWORD)).status_code == 429


async def test_a_forged_device_token_is_no_known_browser(place: SessionHarness) -> None:
    email = await place.user()
    known = place.browser(STRANGER)
    await try_login(known, email, PASSWORD)
    await use_up(place.browser(STRANGER), email)
    genuine = known.cookies[DEVICE_COOKIE]
    header, claims, signature = genuine.split(".")
    for forged in (f"{header}.{claims}.", f"{header}.{claims}.{signature[::-1]}", "x", "x" * 9000):
        browser = place.browser(STRANGER, Cookie=f"{DEVICE_COOKIE}={forged}")
        assert (await try_login(browser, email, PASSWORD)).status_code == 429


async def test_unknown_email_addresses_are_counted_too(place: SessionHarness) -> None:
    email, sessions = f"{uuid4()}@nowhere", place.services.sessions
    for _ in range(FREE_ATTEMPTS):
        with pytest.raises(LoginFailed):
            await sessions.log_in(email, PASSWORD)
    with pytest.raises(TooManyAttempts):
        await sessions.log_in(email, PASSWORD)


async def test_parallel_attempts_do_not_bypass_the_limit(place: SessionHarness) -> None:
    email, sessions = await place.user(), place.services.sessions
    tries = [sessions.log_in(email, f"wrong {n}") for n in range(3 * FREE_ATTEMPTS)]
    kinds = [type(result) for result in await asyncio.gather(*tries, return_exceptions=True)]
    assert kinds.count(LoginFailed) == FREE_ATTEMPTS
    assert kinds.count(TooManyAttempts) == 2 * FREE_ATTEMPTS


async def test_success_and_a_new_password_reset_the_delay(place: SessionHarness) -> None:
    email, services = await place.user(), place.services
    for end in (
        lambda: services.sessions.log_in(email, PASSWORD),
        lambda: services.users.set_password(email, PASSWORD),
        lambda: services.sessions.log_in(email, PASSWORD),
    ):
        for _ in range(FREE_ATTEMPTS - 1):
            with pytest.raises(LoginFailed):
                await services.sessions.log_in(email, "wrong")
        await end()


async def test_failures_from_many_networks_only_delay_the_right_password_briefly(
    place: SessionHarness,
) -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    sessions = new_sessions(place.services, Passwords(FAST_HASHER), place.clock, pause)
    email = await place.user()
    known = await sessions.log_in(email, PASSWORD, client="192.0.2.1")
    for n in range(BUSY_FAILURES):
        with pytest.raises(LoginFailed):
            await sessions.log_in(email, "wrong", client=f"198.51.100.{n}")
    assert pauses == []
    await sessions.log_in(email, PASSWORD, client="192.0.2.2")
    assert pauses == [BRIEF_DELAY_S]
    await sessions.log_in(email, PASSWORD, client="192.0.2.3", device=known.device)
    assert pauses == [BRIEF_DELAY_S]


async def test_one_network_cannot_keep_all_checks_of_passwords_busy(place: SessionHarness) -> None:
    released = asyncio.Event()

    class BlockedPasswords(Passwords):
        async def matches(self, password_hash: str | None, password: str) -> bool:
            await released.wait()
            return await super().matches(password_hash, password)

    sessions = new_sessions(place.services, BlockedPasswords(FAST_HASHER), place.clock)
    email = await place.user()
    flood = [
        asyncio.create_task(sessions.log_in(f"{uuid4()}@nowhere", "wrong", client="192.0.2.77"))
        for _ in range(AT_ONCE + 5)
    ]
    # Those beyond the limit are refused while all others wait for their check.
    first = asyncio.as_completed(flood)
    for _ in range(5):
        with pytest.raises(TooManyAttempts):
            await next(first)
    owner = asyncio.create_task(sessions.log_in(email, PASSWORD, client="198.51.100.7"))
    released.set()
    assert (await owner).caller.user is not None
    kinds = [type(result) for result in await asyncio.gather(*flood, return_exceptions=True)]
    assert (kinds.count(LoginFailed), kinds.count(TooManyAttempts)) == (AT_ONCE, 5)


async def test_only_a_trusted_proxy_says_who_the_client_is(place: SessionHarness) -> None:
    services = with_settings(place.services, trusted_proxies=frozenset({"10.0.0.0/8"}))
    config = server_config(create_app(services), services.settings)
    config.load()

    def browser(peer: str, forwarded: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(config.loaded_app, client=(peer, 1))
        headers = {"X-Forwarded-For": forwarded}
        return httpx.AsyncClient(transport=transport, base_url=BASE_URL, headers=headers)

    email = await place.user()
    await use_up(browser("10.1.2.3", STRANGER), email)
    spoofed = browser("10.1.2.3", f"198.51.100.7, {STRANGER}")
    assert (await try_login(spoofed, email)).status_code == 429
    assert (await try_login(browser("10.1.2.3", "198.51.100.7"), email)).status_code == 401
    # From anywhere else the header means nothing.
    email = await place.user()
    for n in range(FREE_ATTEMPTS):
        assert (await try_login(browser(STRANGER, f"198.51.100.{n}"), email)).status_code == 401
    assert (await try_login(browser(STRANGER, "198.51.100.99"), email)).status_code == 429


def test_without_the_setting_no_proxy_is_trusted(place: SessionHarness) -> None:
    assert not server_config(place.kiln.asgi, place.services.settings).proxy_headers
