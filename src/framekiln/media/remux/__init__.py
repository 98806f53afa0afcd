"""Joins and copies encoded tracks without re-encoding."""
