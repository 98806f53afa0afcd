"""The rows of endpoints."""
