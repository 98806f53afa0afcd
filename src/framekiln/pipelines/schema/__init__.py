"""JSON from outside: the shapes that values may have, and every issue of those that have not."""
