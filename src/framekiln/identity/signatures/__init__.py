"""Tokens that open media for a while: what they cover, what signs them, how they are read."""
