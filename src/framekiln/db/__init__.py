"""PostgreSQL: the pool, migrations, and the embedded server."""
