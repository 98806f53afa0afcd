"""Compositions as data: documents, layer configs and templates. Pure; needs no browser."""
