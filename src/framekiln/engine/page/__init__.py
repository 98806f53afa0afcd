"""Renders pages: the page, its host, its files and its warnings."""
