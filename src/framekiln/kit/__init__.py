"""Modules for every package: errors, clock, ids, canonical JSON, the guarded fetcher."""
