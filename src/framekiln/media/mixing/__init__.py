"""Sounds into one track: gains, speed, silence, the limiter, AAC."""
