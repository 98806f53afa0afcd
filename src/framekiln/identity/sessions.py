"""Sessions: login with a password, authentication by cookie, logout.

A session is a row under the hash of a random text; only the browser has the text. It is extended
by use. Every attempt is counted before the password is checked, so that concurrent attempts cannot
exceed the limit of `throttle`; neither a response nor its timing reveals which addresses exist.
"""

import asyncio
import math
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Final

from framekiln.audit.actor import name_actor
from framekiln.audit.log import record
from framekiln.audit.model import ActorType
from framekiln.db.pool import Connection, Database
from framekiln.identity import member_store, user_store
from framekiln.identity.errors import (
    LoginFailed,
    OrganizationNotFound,
    SessionEnded,
    SessionMissing,
    TooManyAttempts,
)
from framekiln.identity.keys import hash_key
from framekiln.identity.model import Caller, IssuedSession, Member
from framekiln.identity.passwords import Passwords
from framekiln.identity.service import CallerCache
from framekiln.identity.signatures.devices import DeviceTokens
from framekiln.identity.throttle import (
    AT_ONCE,
    BRIEF_DELAY_S,
    BUSY_FAILURES,
    FORGET_AFTER,
    LoginAttempts,
    network_of,
)
from framekiln.identity.users import normalize_email
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, UserId

LIFETIME: Final = timedelta(days=30)
"""After the last use."""
EXTEND_EVERY: Final = timedelta(days=1)
TOKEN_BYTES: Final = 32
MAX_TOKEN_CHARS: Final = 128

# What attempts with codes are counted under. It is no e-mail address.
_ANY_CODE: Final = "login code"

Pause = Callable[[float], Awaitable[object]]


class Sessions:
    """The sessions of all users."""

    def __init__(
        self,
        database: Database,
        *,
        passwords: Passwords,
        devices: DeviceTokens,
        clock: Clock,
        pause: Pause = asyncio.sleep,
    ) -> None:
        self._database = database
        self._passwords = passwords
        self._devices = devices
        self._clock = clock
        self._pause = pause
        self._recent = CallerCache()
        self._running: Counter[str] = Counter()

    async def log_in(
        self, email: str, password: str, *, client: str | None = None, device: str | None = None
    ) -> IssuedSession:
        """Start a session in the user's first organization, or raise `LoginFailed`.

        `client` is the network address that the attempt comes from, `device` the device token of
        an earlier login in the same browser.
        """
        found, source = await self.check_password(email, password, client=client, device=device)
        return await self.begin(found, source=source, method="password")

    async def check_password(
        self, email: str, password: str, *, client: str | None, device: str | None
    ) -> tuple[user_store.StoredUser, str]:
        """Return the user and where the attempt comes from, or raise `LoginFailed`."""
        address = normalize_email(email)
        if address is None:
            raise _login_failed()
        async with self._database.connection() as connection:
            found = await user_store.find_user(connection, address)
        browser = await self._devices.read(device, found.user.id) if found else None
        source = f"browser {browser}" if browser else network_of(client)
        with self._place_of(source):
            is_busy = await self._count_attempt(address, source)
            if is_busy and browser is None:
                await self._pause(BRIEF_DELAY_S)
            password_hash = found.password_hash if found else None
            is_right = await self._passwords.matches(password_hash, password)
        if not is_right or found is None:
            raise _login_failed()
        return found, source

    async def log_in_with_code(self, code: str, *, client: str | None = None) -> IssuedSession:
        """Start a session with the code of a login link, which works once."""
        source = network_of(client)
        with self._place_of(source):
            await self._count_attempt(_ANY_CODE, source)
            async with self._database.transaction() as connection:
                found = await user_store.take_login_code(
                    connection, hash_key(code), now=self._clock.now()
                )
                if found is not None:
                    await user_store.reset_login_attempts(connection, _ANY_CODE, source)
        if found is None:
            raise _link_used()
        return await self.begin(found, method="login_link")

    async def authenticate(self, text: str | None) -> Caller:
        """Return the user logged in with this text, or raise `Unauthenticated`."""
        if not text:
            raise SessionMissing("no session: POST /login first")
        if len(text) > MAX_TOKEN_CHARS:
            raise _ended()
        now, token_hash = self._clock.now(), hash_key(text)
        recent = self._recent.get(token_hash, now=now)
        if recent is not None:
            return recent
        generation = self._recent.generation
        async with self._database.connection() as connection:
            found = await user_store.find_session(connection, token_hash, now=now)
        if found is None:
            raise _ended()
        caller = Caller(organization=found.organization, user=found.user, role=found.role)
        self._recent.put(token_hash, caller, now=now, generation=generation)
        await self._extend(token_hash, found.expires_at, now=now)
        return caller

    async def switch(self, text: str, caller: Caller, organization_id: OrganizationId) -> Caller:
        """Continue a session in another organization of its user."""
        assert caller.user is not None
        async with self._database.transaction() as connection:
            memberships = await member_store.list_of_user(connection, caller.user.id)
            chosen = next((it for it in memberships if it.organization.id == organization_id), None)
            if chosen is None:
                raise OrganizationNotFound(
                    f"you do not belong to an organization {organization_id}", field="organization"
                )
            await user_store.move_session(connection, hash_key(text), organization_id)
            await self._record_start(connection, chosen, "switch")
        self._recent.clear()
        return Caller(organization=chosen.organization, user=chosen.user, role=chosen.role)

    async def organizations(self, user_id: UserId) -> list[Member]:
        """Return the organizations that a user belongs to, with their roles."""
        async with self._database.connection() as connection:
            return await member_store.list_of_user(connection, user_id)

    def forget_recent(self) -> None:
        """Check all sessions again at their next use, because a role or a membership changed."""
        self._recent.clear()

    async def log_out(self, text: str) -> None:
        """End a session; repeating it has no effect."""
        async with self._database.transaction() as connection:
            await user_store.delete_session(connection, hash_key(text))
        self._recent.clear()

    async def remove_expired(self) -> int:
        """Delete expired sessions; return their number."""
        async with self._database.transaction() as connection:
            return await user_store.delete_expired(
                connection, now=self._clock.now(), window=FORGET_AFTER
            )

    @contextmanager
    def _place_of(self, source: str) -> Iterator[None]:
        if self._running[source] >= AT_ONCE:
            raise TooManyAttempts(
                f"{AT_ONCE} logins from your network are being checked: wait 1 s", retry_after_s=1
            )
        self._running[source] += 1
        try:
            yield
        finally:
            self._running[source] -= 1
            if not self._running[source]:
                del self._running[source]

    async def _count_attempt(self, email: str, source: str) -> bool:
        """Count an attempt, or raise `TooManyAttempts`; return whether many others have failed."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            tried = await user_store.lock_login_attempts(connection, email, source, now=now)
            wait_s = math.ceil(tried.wait(now).total_seconds())
            if wait_s > 0:
                raise TooManyAttempts(
                    f"too many logins with this {_counted_name(email)} have failed from your"
                    f" network or browser: wait {wait_s} s",
                    retry_after_s=wait_s,
                )
            failures = await user_store.count_login_attempts(
                connection, email, source, after=now - FORGET_AFTER
            )
            counted = LoginAttempts(tried.recent(now) + 1, now)
            await user_store.set_login_attempts(connection, email, source, counted)
        return failures >= BUSY_FAILURES

    async def begin(
        self,
        found: user_store.StoredUser,
        *,
        method: str,
        source: str | None = None,
        organization_id: OrganizationId | None = None,
    ) -> IssuedSession:
        """Start a session of a user who was checked, in the first organization or the given one."""
        text, now = secrets.token_urlsafe(TOKEN_BYTES), self._clock.now()
        async with self._database.transaction() as connection:
            memberships = await member_store.list_of_user(connection, found.user.id)
            chosen = next(
                (it for it in memberships if organization_id in (None, it.organization.id)), None
            )
            if chosen is None or not await user_store.insert_session(
                connection,
                found,
                organization_id=chosen.organization.id,
                token_hash=hash_key(text),
                now=now,
                expires_at=now + LIFETIME,
            ):
                raise _login_failed()
            if source is not None:
                await user_store.reset_login_attempts(connection, found.user.email, source)
            await self._record_start(connection, chosen, method)
        caller = Caller(organization=chosen.organization, user=found.user, role=chosen.role)
        return IssuedSession(text, caller, await self._devices.sign(found.user.id))

    async def _record_start(self, connection: Connection, member: Member, method: str) -> None:
        name_actor(ActorType.USER, str(member.user.id), member.user.email)
        await record(
            connection,
            member.organization.id,
            "session.started",
            resource=member.user.id,
            now=self._clock.now(),
            method=method,
        )

    async def _extend(self, token_hash: str, expires_at: datetime, *, now: datetime) -> None:
        if now + LIFETIME - expires_at < EXTEND_EVERY:
            return
        async with self._database.transaction() as connection:
            await user_store.extend_session(connection, token_hash, expires_at=now + LIFETIME)


def _counted_name(email: str) -> str:
    return "kind of link" if email == _ANY_CODE else "e-mail address"


def _login_failed() -> LoginFailed:
    return LoginFailed("the e-mail address or the password is wrong")


def _link_used() -> LoginFailed:
    return LoginFailed(
        "this login link was used or has expired: framekiln users login-link prints another"
    )


def _ended() -> SessionEnded:
    return SessionEnded("this session has ended: log in again")
