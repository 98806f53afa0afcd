"""Routes under /api/v1, one module per URL."""
