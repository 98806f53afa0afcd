"""The SQL of templates. Every read checks the organization."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from psycopg.types.json import Json as JsonText

from framekiln.db.pool import Connection
from framekiln.identity.model import Caller
from framekiln.kit.ids import ApiKeyId, OrganizationId
from framekiln.videos.pagination import PageNumberRequest
from framekiln.videos.public_ids import TemplateId
from framekiln.videos.templates.model import (
    NewTemplate,
    StoredTemplate,
    TemplateSource,
    TemplateSummary,
    TemplateVersion,
)

Row = dict[str, Any]


async def insert(
    connection: Connection,
    template_id: TemplateId,
    new: NewTemplate,
    *,
    caller: Caller,
    now: datetime,
) -> StoredTemplate | None:
    """Add a template; None if the id is taken."""
    cursor = await connection.execute(
        """
        INSERT INTO template (id, organization_id, api_key_id, name, config, inputs,
            default_values, created_at)
        VALUES (%(id)s, %(organization_id)s, %(api_key_id)s, %(name)s, %(config)s, %(inputs)s,
            %(default_values)s, %(now)s)
        ON CONFLICT (id) DO NOTHING
        RETURNING *
        """,
        {
            "id": template_id,
            "organization_id": caller.organization.id,
            "api_key_id": caller.api_key_id,
            "name": new.name,
            "config": JsonText(new.config),
            "inputs": JsonText(new.inputs),
            "default_values": JsonText(new.default_values),
            "now": now,
        },
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    await _insert_version(connection, template_id, api_key_id=caller.api_key_id, now=now)
    return _template(row)


async def update(
    connection: Connection,
    template_id: TemplateId,
    new: NewTemplate,
    *,
    caller: Caller,
    now: datetime,
) -> StoredTemplate | None:
    """Make the next version of a template; None if the template does not exist.

    Its row is locked until the transaction ends, so that no number is used twice.
    """
    cursor = await connection.execute(
        """
        UPDATE template SET name = %(name)s, config = %(config)s, inputs = %(inputs)s,
            default_values = %(default_values)s, version = version + 1
        WHERE id = %(id)s AND organization_id = %(organization_id)s
        RETURNING *
        """,
        {
            "id": template_id,
            "organization_id": caller.organization.id,
            "name": new.name,
            "config": JsonText(new.config),
            "inputs": JsonText(new.inputs),
            "default_values": JsonText(new.default_values),
        },
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    await _insert_version(connection, template_id, api_key_id=caller.api_key_id, now=now)
    return _template(row)


async def _insert_version(
    connection: Connection, template_id: TemplateId, *, api_key_id: ApiKeyId | None, now: datetime
) -> None:
    await connection.execute(
        """
        INSERT INTO template_version (template_id, number, api_key_id, name, config, inputs,
            default_values, created_at)
        SELECT id, version, %s, name, config, inputs, default_values, %s
        FROM template WHERE id = %s
        """,
        (api_key_id, now, template_id),
    )


async def find_version(
    connection: Connection, organization_id: OrganizationId, template_id: TemplateId, number: int
) -> StoredTemplate | None:
    """Return a template of the organization as it was in a version."""
    cursor = await connection.execute(
        """
        SELECT template.id, organization_id, made.api_key_id, made.name, made.config, made.inputs,
            made.default_values, made.number AS version, template.created_at
        FROM template JOIN template_version AS made ON made.template_id = template.id
        WHERE template.id = %s AND organization_id = %s AND made.number = %s
        """,
        (template_id, organization_id, number),
    )
    row = await cursor.fetchone()
    return _template(row) if row else None


async def find_source(
    connection: Connection, organization_id: OrganizationId, template_id: TemplateId, number: int
) -> TemplateSource | None:
    """Return the content of a version of the organization's template."""
    cursor = await connection.execute(
        """
        SELECT made.* FROM template JOIN template_version AS made ON made.template_id = template.id
        WHERE template.id = %s AND organization_id = %s AND made.number = %s
        """,
        (template_id, organization_id, number),
    )
    row = await cursor.fetchone()
    if row is None:
        return None
    return TemplateSource(_version(row), row["config"], row["inputs"], row["default_values"])


async def list_versions(
    connection: Connection, template_id: TemplateId, page_request: PageNumberRequest
) -> Sequence[TemplateVersion]:
    """Return the versions of a page, newest first."""
    cursor = await connection.execute(
        """
        SELECT number, name, created_at FROM template_version WHERE template_id = %s
        ORDER BY number DESC LIMIT %s OFFSET %s
        """,
        (template_id, page_request.per_page, page_request.offset),
    )
    return [_version(row) for row in await cursor.fetchall()]


async def find(
    connection: Connection, organization_id: OrganizationId, template_id: TemplateId
) -> StoredTemplate | None:
    """Return a template of the organization."""
    cursor = await connection.execute(
        "SELECT * FROM template WHERE id = %s AND organization_id = %s",
        (template_id, organization_id),
    )
    row = await cursor.fetchone()
    return _template(row) if row else None


async def list_page(
    connection: Connection, organization_id: OrganizationId, page_request: PageNumberRequest
) -> Sequence[TemplateSummary]:
    """Return the templates of a page, newest first."""
    cursor = await connection.execute(
        """
        SELECT id, name, version, created_at FROM template WHERE organization_id = %s
        ORDER BY created_at DESC, id LIMIT %s OFFSET %s
        """,
        (organization_id, page_request.per_page, page_request.offset),
    )
    return [
        TemplateSummary(TemplateId(row["id"]), row["name"], row["version"], row["created_at"])
        for row in await cursor.fetchall()
    ]


async def count(connection: Connection, organization_id: OrganizationId) -> int:
    """Return the number of templates of the organization."""
    cursor = await connection.execute(
        "SELECT count(*) AS n FROM template WHERE organization_id = %s", (organization_id,)
    )
    row = await cursor.fetchone()
    assert row is not None
    return int(row["n"])


async def delete(
    connection: Connection, organization_id: OrganizationId, template_id: TemplateId
) -> bool:
    """Delete a template; False if it did not exist."""
    cursor = await connection.execute(
        "DELETE FROM template WHERE id = %s AND organization_id = %s",
        (template_id, organization_id),
    )
    return cursor.rowcount == 1


def _version(row: Row) -> TemplateVersion:
    return TemplateVersion(row["number"], row["name"], row["created_at"])


def _template(row: Row) -> StoredTemplate:
    return StoredTemplate(
        id=TemplateId(row["id"]),
        organization_id=OrganizationId(row["organization_id"]),
        api_key_id=ApiKeyId(row["api_key_id"]) if row["api_key_id"] else None,
        name=row["name"],
        config=row["config"],
        inputs=row["inputs"],
        default_values=row["default_values"],
        version=row["version"],
        created_at=row["created_at"],
    )
