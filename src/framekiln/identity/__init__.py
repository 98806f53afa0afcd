"""Organizations and their API keys."""
