"""Tokens for media: their scope, their signing keys, and their verification."""
