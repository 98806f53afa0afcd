"""Users: the operator creates, lists and deletes them and sets passwords. There is no sign-up."""

import re
import secrets
from datetime import datetime, timedelta
from typing import Final

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.identity import member_store, user_store
from framekiln.identity.errors import EmailTaken, InvalidEmail, OrganizationNotFound, UserNotFound
from framekiln.identity.keys import hash_key
from framekiln.identity.model import IssuedUser, Member, Role, User
from framekiln.identity.passwords import Passwords, make_password
from framekiln.identity.service import DEFAULT_ORGANIZATION
from framekiln.identity.store import (
    find_organization,
    find_organization_by_name,
    list_organizations,
)
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, UserId, new_uuid

FIRST_EMAIL: Final = "admin@localhost"
MAX_EMAIL_CHARS: Final = 254
LOGIN_CODE_BYTES: Final = 32
EMAIL: Final = re.compile(r"[^\s@]+@[^\s@]+")


class Users:
    """The users of this installation."""

    def __init__(self, database: Database, *, passwords: Passwords, clock: Clock) -> None:
        self._database = database
        self._passwords = passwords
        self._clock = clock

    async def create(
        self,
        email: str,
        organization_id: OrganizationId,
        *,
        role: Role = Role.MEMBER,
        password: str | None = None,
    ) -> IssuedUser:
        """Add a user to an organization; without a password, one is generated."""
        require_email(email)
        async with self._database.transaction() as connection:
            if await find_organization(connection, organization_id) is None:
                raise OrganizationNotFound(f"there is no organization {organization_id}")
        issued, password_hash = await self._new_user(email, password)
        async with self._database.transaction() as connection:
            await _insert(connection, issued.user, password_hash)
            await join_organization(
                connection, issued.user, organization_id, role, now=issued.user.created_at
            )
        return issued

    async def list_members(self) -> list[Member]:
        """Return all users with all their organizations, oldest first."""
        async with self._database.connection() as connection:
            return await member_store.list_all(connection)

    async def set_password(self, email: str, password: str | None = None) -> IssuedUser:
        """Replace a user's password and end all their sessions; without one, it is generated."""
        text = password if password is not None else make_password()
        password_hash = await self._passwords.hash(text)
        async with self._database.transaction() as connection:
            found = await user_store.find_user(connection, require_email(email))
            if found is None:
                raise _no_user(email)
            await user_store.set_password(connection, found.user.id, password_hash)
            await user_store.reset_login_attempts(connection, found.user.email)
        return IssuedUser(found.user, text)

    async def issue_login_code(self, email: str, *, lifetime: timedelta) -> str:
        """Return a code that logs the user in once, without the password."""
        code = secrets.token_urlsafe(LOGIN_CODE_BYTES)
        async with self._database.transaction() as connection:
            found = await user_store.find_user(connection, require_email(email))
            if found is None:
                raise _no_user(email)
            await user_store.insert_login_code(
                connection,
                found.user.id,
                code_hash=hash_key(code),
                expires_at=self._clock.now() + lifetime,
            )
        return code

    async def issue_first_login_code(self, *, lifetime: timedelta) -> str | None:
        """Return a code for the first user; None if that user was deleted."""
        try:
            return await self.issue_login_code(FIRST_EMAIL, lifetime=lifetime)
        except UserNotFound:
            return None

    async def delete(self, email: str) -> User:
        """Delete a user and end all their sessions; data of the organization is kept."""
        async with self._database.transaction() as connection:
            address = require_email(email)
            await self._record_removal(connection, address)
            deleted = await user_store.delete_user(connection, address)
        if deleted is None:
            raise _no_user(email)
        return deleted

    async def ensure_first(self) -> IssuedUser | None:
        """Prepare the first start; safe to call on every start, from many processes at once.

        If there is no user, the owner of the default organization (else of the oldest) is created
        and returned with the password, to be printed once.
        """
        async with self._database.transaction() as connection:
            await user_store.lock_first_user(connection)
            if await user_store.has_users(connection):
                return None
            organization = await find_organization_by_name(connection, DEFAULT_ORGANIZATION)
            organization = organization or next(iter(await list_organizations(connection)), None)
            if organization is None:
                return None
            issued, password_hash = await self._new_user(FIRST_EMAIL, None)
            await _insert(connection, issued.user, password_hash)
            await join_organization(
                connection, issued.user, organization.id, Role.OWNER, now=issued.user.created_at
            )
        return issued

    async def _record_removal(self, connection: Connection, email: str) -> None:
        found = await user_store.find_user(connection, email)
        for each in await member_store.list_of_user(connection, found.user.id) if found else ():
            await record(
                connection,
                each.organization.id,
                "member.removed",
                resource=each.user.id,
                now=self._clock.now(),
                email=email,
            )

    async def _new_user(self, email: str, password: str | None) -> tuple[IssuedUser, str]:
        text = password if password is not None else make_password()
        user = User(id=UserId(new_uuid()), email=require_email(email), created_at=self._clock.now())
        return IssuedUser(user, text), await self._passwords.hash(text)


async def join_organization(
    connection: Connection,
    user: User,
    organization_id: OrganizationId,
    role: Role,
    *,
    now: datetime,
    invited_by: str | None = None,
) -> None:
    """Add a user to an organization, and record it."""
    await member_store.insert_membership(connection, user.id, organization_id, role=role, now=now)
    await record(
        connection,
        organization_id,
        "member.joined",
        resource=user.id,
        now=now,
        email=user.email,
        role=role,
        invited_by=invited_by,
    )


def normalize_email(text: str) -> str | None:
    """Return an address in its stored form, or None if it is invalid."""
    trimmed = text.strip().lower()
    is_sane = len(trimmed) <= MAX_EMAIL_CHARS and trimmed.isprintable()
    return trimmed if is_sane and EMAIL.fullmatch(trimmed) else None


def require_email(text: str) -> str:
    """Return an address in its stored form, or raise `InvalidEmail`."""
    email = normalize_email(text)
    if email is None:
        raise InvalidEmail("an e-mail address must look like name@host", field="email")
    return email


async def _insert(connection: Connection, user: User, password_hash: str) -> None:
    if not await user_store.insert_user(connection, user, password_hash):
        raise EmailTaken(f"a user {user.email} already exists")


def _no_user(email: str) -> UserNotFound:
    return UserNotFound(f"there is no user {email!r}: framekiln users list shows them")
