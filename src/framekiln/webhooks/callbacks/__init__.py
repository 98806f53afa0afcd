"""Addresses that are told of one thing only, named by whoever asked for it."""
