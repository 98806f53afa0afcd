"""Routes under /v2: one module for each URL."""
