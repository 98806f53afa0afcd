"""Durable background jobs behind a narrow port."""
