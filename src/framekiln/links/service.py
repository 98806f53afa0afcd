"""What owners do with links, and the verification of each use."""

from datetime import timedelta
from typing import Final

from framekiln.audit.log import record
from framekiln.db.pool import Database
from framekiln.identity.lookup import find_initiator
from framekiln.identity.signatures.keys import SigningKeys
from framekiln.kit.clock import Clock
from framekiln.kit.ids import OrganizationId, new_uuid
from framekiln.links import store
from framekiln.links.errors import LinkExpired, LinkNotFound, LinkRevoked, TooManyLinks
from framekiln.links.model import MAX_LINKS, PREFIX, Link, LinkId, NewLink
from framekiln.links.tokens import LinkToken, read_token, write_token

KEPT_FOR: Final = timedelta(days=30)
"""How long expired links are still listed."""


class Links:
    """The links of all organizations."""

    def __init__(
        self, database: Database, *, keys: SigningKeys, clock: Clock, base_url: str
    ) -> None:
        self._database = database
        self._keys = keys
        self._clock = clock
        self._base_url = base_url

    async def create(self, new: NewLink) -> Link:
        """Store a link; whether its owner may read the target is checked before."""
        now = self._clock.now()
        # In whole seconds, as in the token.
        expires_at = (now + new.lifetime).replace(microsecond=0) + timedelta(seconds=1)
        async with self._database.transaction() as connection:
            if await store.count_valid(connection, new.organization_id, now=now) >= MAX_LINKS:
                raise TooManyLinks(
                    f"this organization has {MAX_LINKS:,} valid links, and no more are allowed:"
                    " revoke some, or let new ones expire earlier (expires_in_s)"
                )
            link = await store.insert_link(
                connection, LinkId(new_uuid()), new, now=now, expires_at=expires_at
            )
            # The query of a target may be the address of a source with secrets in it.
            await record(
                connection,
                new.organization_id,
                "link.created",
                resource=link.id,
                now=now,
                path=new.target.path,
            )
            return link

    async def write_url(self, link: Link) -> str:
        """Return the signed address of a link."""
        return f"{self.token_url(await self.write_token(link))}{link.target.name}"

    async def write_token(self, link: Link) -> str:
        """Return the signed token of a link."""
        return write_token(link.id, link.expires_at, await self._keys.current())

    def token_url(self, token: str) -> str:
        """Return the folder of all addresses with a token."""
        return f"{self._base_url}{PREFIX}{token}/"

    async def page(
        self, organization_id: OrganizationId, *, limit: int, before: int | None
    ) -> list[Link]:
        """Return links of an organization, newest first, also revoked and expired ones."""
        async with self._database.connection() as connection:
            return await store.list_links(connection, organization_id, limit=limit, before=before)

    async def revoke(self, organization_id: OrganizationId, link_id: LinkId) -> None:
        """Revoke a link at once; repeating it has no effect."""
        async with self._database.transaction() as connection:
            now = self._clock.now()
            if not await store.revoke_link(connection, organization_id, link_id, now=now):
                raise LinkNotFound(f"there is no link {link_id}")
            await record(connection, organization_id, "link.revoked", resource=link_id, now=now)

    async def open(self, text: str) -> Link:
        """Return the link with this token, or raise: unknown, expired or revoked."""
        token = await self._verified(text)
        if token.expires_at <= self._clock.now():
            expired_at = token.expires_at.isoformat().replace("+00:00", "Z")
            raise LinkExpired(f"this link expired at {expired_at}: ask its owner for another")
        async with self._database.connection() as connection:
            link = await store.find_link(connection, token.link_id)
            if link is None:
                raise LinkNotFound(
                    "this link no longer exists: its user or its organization was deleted"
                )
            is_revoked = link.revoked_at is not None
            if not is_revoked and link.api_key_id is not None:
                owner = await find_initiator(connection, link.organization_id, link.api_key_id)
                is_revoked = (
                    owner is None or owner.api_key is None or bool(owner.api_key.revoked_at)
                )
        if is_revoked:
            raise LinkRevoked("this link was revoked: ask its owner for another")
        return link

    async def remove_expired(self) -> int:
        """Delete links that expired long ago."""
        async with self._database.transaction() as connection:
            return await store.delete_expired(connection, before=self._clock.now() - KEPT_FOR)

    async def _verified(self, text: str) -> LinkToken:
        token = read_token(text)
        key = None if token is None else await self._keys.find(token.key_id)
        if token is None or key is None or not token.is_signed_with(key):
            raise LinkNotFound(
                "this link is not valid: it must be copied whole and unchanged from where it was"
                " created"
            )
        return token
