"""Blobs: one interface over a local folder or an object store."""
