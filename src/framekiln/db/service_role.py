"""The role with which the service uses the embedded database: no superuser, owner of its database.

Nobody can log in as the superuser (`access_rules`). What needs it is done in single-user mode while
the server is down. The service logs in with a generated password, kept in a file that libpq reads.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psycopg

from framekiln.db.conninfo import complete_conninfo
from framekiln.kit.account import Account

DATABASE: Final = "framekiln"
ROLE: Final = "framekiln_service"
SUPERUSER: Final = "framekiln"

# Indexes, and sequences of columns, follow their table. Types of tables follow it too.
_MOVE_OWNERSHIP: Final = f"""
DO $$
DECLARE change text;
BEGIN
  FOR change IN
    SELECT format('ALTER SCHEMA %I OWNER TO {ROLE}', nspname)
      FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname NOT IN ('information_schema', 'public')
    UNION ALL
    SELECT format('ALTER TABLE %s OWNER TO {ROLE}', c.oid::regclass)
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
       AND (c.relkind IN ('r', 'p', 'v', 'm', 'f')
            OR c.relkind = 'S' AND NOT EXISTS (
              SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid
                                      AND deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO {ROLE}', p.oid::regprocedure)
      FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
    UNION ALL
    SELECT format('ALTER TYPE %s OWNER TO {ROLE}', t.oid::regtype)
      FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' AND t.typelem = 0
       AND (t.typrelid = 0 OR (SELECT relkind = 'c' FROM pg_class WHERE oid = t.typrelid))
       AND t.typtype IN ('b', 'c', 'd', 'e', 'r')
  LOOP
    EXECUTE change;
  END LOOP;
END $$
"""  # noqa: S608 - only a constant is inserted


@dataclass(frozen=True)
class LoginRole:
    """A role of a database server."""

    name: str
    is_superuser: bool


def login_role(conninfo: str) -> LoginRole | None:
    """Return the role that a conninfo logs in as; None if that fails."""
    query = "SELECT rolname, rolsuper FROM pg_roles WHERE rolname = current_user"
    try:
        with psycopg.connect(complete_conninfo(conninfo)) as connection:
            row = connection.execute(query).fetchone()
    except psycopg.Error:
        return None
    return LoginRole(*row) if row else None


def new_password() -> str:
    """Return a password without characters that need quoting."""
    return secrets.token_hex(32)


def role_statements(password: str, *, is_new: bool) -> tuple[str, ...]:
    """Return what a superuser runs in the database `postgres`; it may run twice."""
    create_role = (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{ROLE}')"
        f" THEN CREATE ROLE {ROLE}; END IF; END $$"
    )
    rights = "LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS"
    alter_role = f"ALTER ROLE {ROLE} {rights} PASSWORD '{password}'"
    database = (
        f"CREATE DATABASE {DATABASE} OWNER {ROLE}"
        if is_new
        else f"ALTER DATABASE {DATABASE} OWNER TO {ROLE}"
    )
    return (create_role, alter_role, database)


def ownership_statements() -> tuple[str, ...]:
    """Return what a superuser runs in an existing database, so that the role owns all of it."""
    return (_MOVE_OWNERSHIP,)


def access_rules() -> str:
    """Return pg_hba.conf: one role, one database, one way. What no line allows is refused."""
    return f"local {DATABASE} {ROLE} scram-sha-256\n"


def write_private(path: Path, text: str, *, owner: Account, mode: int = 0o600) -> None:
    """Write a file that appears whole, with its owner; a link in its place is replaced."""
    part = path.with_name(f"{path.name}.{secrets.token_hex(8)}.part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        if os.geteuid() == 0:
            os.fchown(descriptor, owner.uid, owner.gid)
        os.fchmod(descriptor, mode)
    part.replace(path)


def password_line(password: str) -> str:
    """Return the content of a libpq password file."""
    return f"*:*:*:{ROLE}:{password}\n"
