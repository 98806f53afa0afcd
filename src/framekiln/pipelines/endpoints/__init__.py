"""Endpoint steps: requests to callers' own services, and the callbacks that answer them."""
