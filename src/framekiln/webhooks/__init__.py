"""Webhooks: events sent to receivers, at least once and in order for each resource."""
