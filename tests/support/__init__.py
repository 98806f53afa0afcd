"""Makes and measures media, and replaces external servers. Contains no tests."""
