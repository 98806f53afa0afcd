"""Encodes films."""
