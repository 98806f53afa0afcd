"""Painters: one module for each kind of source."""
