"""Makes and measures media, and stands in for the outside world. Holds no tests itself."""
