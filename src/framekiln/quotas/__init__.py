"""Quotas: how much each organization may use."""
