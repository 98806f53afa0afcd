"""The log of what was sent, is being sent and waits to be sent."""
