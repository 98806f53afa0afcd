"""Connection parameters of PostgreSQL: a libpq URL or DSN, with defaults for a service."""

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from framekiln.kit.errors import InvalidInput

# A peer that disappeared silently is detected within half a minute instead of hours.
DEFAULTS: dict[str, str | int | None] = {
    "application_name": "framekiln",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}


class DatabaseUrlInvalid(InvalidInput):
    """The database URL is malformed."""

    code = "database_url_invalid"


def complete_conninfo(conninfo: str) -> str:
    """Return the same conninfo with our defaults for what it omits."""
    try:
        given = conninfo_to_dict(conninfo)
    except psycopg.ProgrammingError as error:
        # The cause may quote the password, so it is not shown.
        raise DatabaseUrlInvalid(
            "The database URL is malformed: expected postgresql://user:password@host/name"
            " or key=value pairs.",
            field="DATABASE_URL",
        ) from error
    return make_conninfo("", **(DEFAULTS | given))
