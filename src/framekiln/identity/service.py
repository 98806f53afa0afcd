"""Organizations, their keys, and the authentication of every request.

A key is cached for a few seconds after its check, so that a busy one costs no query. A key that
another process revoked works that much longer; in this process it stops immediately.
"""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import structlog

from framekiln.audit.log import record
from framekiln.db.pool import Connection, Database
from framekiln.identity import store
from framekiln.identity.errors import (
    InvalidKeyText,
    InvalidName,
    KeyIdTaken,
    KeyMalformed,
    KeyMissing,
    KeyNotFound,
    KeyNotValid,
    KeyRevoked,
    KeyUnknown,
    OrganizationNameTaken,
    OrganizationNotFound,
    TooManyKeys,
)
from framekiln.identity.keys import hash_key, is_same_hash, make_key, parse_key
from framekiln.identity.model import MAX_NAME_CHARS, ApiKey, Caller, IssuedKey, Organization
from framekiln.kit.clock import Clock
from framekiln.kit.ids import ApiKeyId, OrganizationId, UserId, new_uuid

DEFAULT_ORGANIZATION = "default"
FIRST_KEY_NAME = "first key"
OPERATOR_KEY_NAME = "FRAMEKILN_API_KEY"

MAX_KEYS = 1000
"""Valid keys of an organization."""
CACHE_FOR = timedelta(seconds=5)
CACHE_SIZE = 4096
TOUCH_EVERY = timedelta(minutes=1)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass
class CallerCache:
    """Recently checked callers, by the hash of their key. Failures are not cached."""

    generation: int = 0
    """Counts how often it was cleared: what was read in an earlier generation may be outdated."""
    _checked: dict[str, tuple[datetime, Caller]] = field(default_factory=dict)

    def get(self, key_hash: str, *, now: datetime) -> Caller | None:
        """Return the caller, unless the check is too old or in the future."""
        checked_at, caller = self._checked.get(key_hash, (None, None))
        # A clock that was set back must not extend the lifetime of an entry.
        if checked_at is None or not checked_at <= now < checked_at + CACHE_FOR:
            return None
        return caller

    def put(self, key_hash: str, caller: Caller, *, now: datetime, generation: int) -> None:
        """Cache a caller that was read in this generation; a full cache is emptied first."""
        if generation != self.generation:
            return
        if len(self._checked) >= CACHE_SIZE:
            self._checked.clear()
        self._checked[key_hash] = (now, caller)

    def clear(self) -> None:
        """Remove all entries, and ignore what was read before."""
        self.generation += 1
        self._checked.clear()


class Identity:
    """The organizations of this installation and their keys."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._recent = CallerCache()

    async def authenticate(self, key_text: str | None) -> Caller:
        """Return the owner of this key, or raise `Unauthenticated` with the reason."""
        if not key_text:
            raise KeyMissing("no API key: send the header `Authorization: Bearer <API key>`")
        parts = parse_key(key_text)
        if parts is None:
            raise KeyMalformed("this is not an API key: keys look like ef_<secret>_<key id>")
        key_hash = hash_key(key_text)
        now = self._clock.now()
        recent = self._recent.get(key_hash, now=now)
        if recent is not None:
            return recent
        generation = self._recent.generation
        found = await self._check(parts.key_id, key_hash)
        caller = Caller(organization=found.organization, api_key=found.key)
        self._recent.put(key_hash, caller, now=now, generation=generation)
        await self._touch(found.key, now)
        return caller

    async def find_caller(self, api_key_id: ApiKeyId) -> Caller:
        """Return the owner of a key named in one of our tokens; the key must still be valid."""
        async with self._database.connection() as connection:
            found = await store.find_key_by_id(connection, api_key_id)
        if found is None or found.key.revoked_at is not None:
            raise KeyRevoked("the API key that signed this token was revoked: use another")
        return Caller(organization=found.organization, api_key=found.key)

    async def find_owner(self, organization_id: OrganizationId) -> Caller:
        """Return an organization as a caller, for work that one of its users has begun."""
        async with self._database.connection() as connection:
            found = await store.find_organization(connection, organization_id)
        if found is None:
            raise OrganizationNotFound(f"there is no organization {organization_id}")
        return Caller(organization=found)

    async def create_organization(
        self, name: str, *, pipelines_enabled: bool = False
    ) -> Organization:
        """Add an organization; it has no key yet."""
        organization = self._new_organization(name, pipelines_enabled=pipelines_enabled)
        async with self._database.transaction() as connection:
            if not await store.insert_organization(connection, organization):
                raise OrganizationNameTaken(f"an organization named {name!r} already exists")
        return organization

    async def list_organizations(self) -> list[Organization]:
        """Return all organizations, oldest first."""
        async with self._database.connection() as connection:
            return await store.list_organizations(connection)

    async def set_pipelines(self, organization_id: OrganizationId, enabled: bool) -> Organization:
        """Switch the pipelines interface on or off for an organization."""
        async with self._database.transaction() as connection:
            changed = await store.set_pipelines(connection, organization_id, enabled=enabled)
            if changed is None:
                raise _no_organization(organization_id)
            await record(
                connection,
                organization_id,
                "organization.changed",
                resource=organization_id,
                now=self._clock.now(),
                pipelines_enabled=enabled,
            )
        self._recent.clear()
        return changed

    async def create_key(
        self, organization_id: OrganizationId, name: str, *, user_id: UserId | None = None
    ) -> IssuedKey:
        """Create a key; its text is only in the returned value."""
        async with self._database.transaction() as connection:
            if await store.find_organization(connection, organization_id) is None:
                raise _no_organization(organization_id)
            if await store.count_valid_keys(connection, organization_id) >= MAX_KEYS:
                raise TooManyKeys(
                    f"this organization has {MAX_KEYS} valid API keys, and no more are allowed:"
                    " revoke some first"
                )
            return await self._issue(connection, organization_id, name, user_id=user_id)

    async def rotate_key(
        self, organization_id: OrganizationId, key_id: str, *, overlap: timedelta
    ) -> IssuedKey:
        """Give a key another secret; the one before works for as long as `overlap`."""
        text, now = make_key(key_id), self._clock.now()
        async with self._database.transaction() as connection:
            found = await store.find_key(connection, key_id)
            if found is None or found.organization.id != organization_id:
                raise _no_key(key_id)
            if found.key.revoked_at is not None:
                raise KeyNotValid(f"the key {found.key.name!r} was revoked: make another")
            if found.key.name == OPERATOR_KEY_NAME and found.key.user_id is None:
                raise KeyNotValid(
                    f"this key is set by {OPERATOR_KEY_NAME}: the operator changes it there"
                )
            until = now + overlap if overlap else None
            await store.replace_secret(connection, found.key, hash_key(text), previous_until=until)
            await record(
                connection,
                organization_id,
                "key.rotated",
                resource=key_id,
                now=now,
                name=found.key.name,
                overlap_s=int(overlap.total_seconds()),
            )
        self._recent.clear()
        return IssuedKey(text=text, key=replace(found.key, previous_until=until))

    async def issue_temporary_key(self, organization_id: OrganizationId, name: str) -> IssuedKey:
        """Create a key for a short time; the caller revokes it.

        It reuses the row of a revoked key of that name, with a new secret. There are therefore
        never more rows than keys in use at the same time.
        """
        text = make_key()
        new = self._new_key(organization_id, name, text)
        async with self._database.transaction() as connection:
            reused = await store.reuse_revoked_key(connection, new, hash_key(text))
            if reused is None:
                await store.insert_key(connection, new, hash_key(text))
        return IssuedKey(text=text, key=reused or new)

    async def list_keys(self, organization_id: OrganizationId) -> list[ApiKey]:
        """Return an organization's keys, oldest first, including revoked ones."""
        async with self._database.connection() as connection:
            if await store.find_organization(connection, organization_id) is None:
                raise _no_organization(organization_id)
            return await store.list_keys(connection, organization_id)

    async def revoke_key(self, key_id: str) -> ApiKey:
        """Revoke the key with this public key id; repeating it has no effect."""
        now = self._clock.now()
        async with self._database.transaction() as connection:
            revoked = await store.revoke_key(connection, key_id, now=now)
            if revoked is None:
                raise _no_key(key_id)
            if revoked.revoked_at == now:
                await record(
                    connection,
                    revoked.organization_id,
                    "key.revoked",
                    resource=key_id,
                    now=now,
                    name=revoked.name,
                )
        self._recent.clear()
        return revoked

    async def ensure_default(self, api_key: str | None) -> IssuedKey | None:
        """Prepare the first start; safe to call on every start, from many processes at once.

        Without `api_key`, an empty database gets the default organization and its first key, which
        is returned to be printed once. With it, that key is valid afterwards in the default
        organization, whatever was there before.
        """
        if api_key is not None and parse_key(api_key) is None:
            raise InvalidKeyText(
                f"{OPERATOR_KEY_NAME} is not an API key: it must look like ef_<secret>_<key id>, "
                "without spaces and without an underscore in the secret"
            )
        async with self._database.transaction() as connection:
            await store.lock_default(connection)
            if api_key is None:
                issued = await self._first_key(connection)
            else:
                issued = None
                await self._operator_key(connection, api_key)
        self._recent.clear()
        return issued

    async def _check(self, key_id: str, key_hash: str) -> store.StoredApiKey:
        async with self._database.connection() as connection:
            found = await store.find_key(connection, key_id)
        if found is None or not self._is_secret_of(found, key_hash):
            raise KeyUnknown("this API key is unknown: check it, or create another")
        if found.key.revoked_at is not None:
            raise KeyRevoked("this API key was revoked: use another")
        return found

    def _is_secret_of(self, found: store.StoredApiKey, key_hash: str) -> bool:
        """Whether it is the hash of the key, or of its secret before the last rotation."""
        if is_same_hash(found.key_hash, key_hash):
            return True
        previous, until = found.previous_hash, found.key.previous_until
        if previous is None or until is None or not is_same_hash(previous, key_hash):
            return False
        if until <= self._clock.now():
            raise KeyRevoked("this API key got a new secret, and the time to change has passed")
        return True

    async def _touch(self, key: ApiKey, now: datetime) -> None:
        if key.last_used_at is not None and now - key.last_used_at < TOUCH_EVERY:
            return
        async with self._database.transaction() as connection:
            await store.touch_key(connection, key.id, now=now, every=TOUCH_EVERY)

    async def _first_key(self, connection: Connection) -> IssuedKey | None:
        if await store.list_organizations(connection):
            return None
        organization = self._new_organization(DEFAULT_ORGANIZATION, pipelines_enabled=True)
        await store.insert_organization(connection, organization)
        return await self._issue(connection, organization.id, FIRST_KEY_NAME)

    async def _operator_key(self, connection: Connection, text: str) -> None:
        organization = await store.find_organization_by_name(connection, DEFAULT_ORGANIZATION)
        if organization is None:
            organization = self._new_organization(DEFAULT_ORGANIZATION, pipelines_enabled=True)
            await store.insert_organization(connection, organization)
        key = self._new_key(organization.id, OPERATOR_KEY_NAME, text)
        before = await store.find_key(connection, key.key_id)
        if not await store.put_key(connection, key, hash_key(text)):
            raise KeyIdTaken(
                f"the key id {key.key_id!r} of {OPERATOR_KEY_NAME} belongs to a key of another "
                "organization: choose another key id"
            )
        if before is not None and before.key.revoked_at is not None:
            log.warning("identity.revoked_key_restored", key_id=key.key_id)

    async def _issue(
        self,
        connection: Connection,
        organization_id: OrganizationId,
        name: str,
        *,
        user_id: UserId | None = None,
    ) -> IssuedKey:
        text = make_key()
        key = replace(self._new_key(organization_id, name, text), user_id=user_id)
        await store.insert_key(connection, key, hash_key(text))
        await record(
            connection,
            organization_id,
            "key.created",
            resource=key.key_id,
            now=key.created_at,
            name=key.name,
        )
        return IssuedKey(text=text, key=key)

    def _new_organization(self, name: str, *, pipelines_enabled: bool) -> Organization:
        return Organization(
            id=OrganizationId(new_uuid()),
            name=_checked_name(name),
            pipelines_enabled=pipelines_enabled,
            created_at=self._clock.now(),
        )

    def _new_key(self, organization_id: OrganizationId, name: str, text: str) -> ApiKey:
        parts = parse_key(text)
        assert parts is not None
        return ApiKey(
            id=ApiKeyId(new_uuid()),
            organization_id=organization_id,
            name=_checked_name(name),
            key_id=parts.key_id,
            created_at=self._clock.now(),
            last_used_at=None,
            revoked_at=None,
        )


def _checked_name(name: str) -> str:
    trimmed = name.strip()
    if not trimmed or len(trimmed) > MAX_NAME_CHARS or not trimmed.isprintable():
        raise InvalidName(f"a name needs 1 to {MAX_NAME_CHARS} printable characters", field="name")
    return trimmed


def _no_key(key_id: str) -> KeyNotFound:
    return KeyNotFound(f"no API key has the key id {key_id[:100]!r}: list keys to see their ids")


def _no_organization(organization_id: OrganizationId) -> OrganizationNotFound:
    return OrganizationNotFound(f"there is no organization {organization_id}")
