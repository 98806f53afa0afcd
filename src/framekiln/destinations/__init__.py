"""Destinations: outputs of renders, copied to buckets and URLs of their owners."""
