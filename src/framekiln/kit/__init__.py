"""Small things everything may use: errors, clock, ids, canonical JSON, the guarded fetcher."""
