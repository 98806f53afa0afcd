"""The rows of what has happened that runs must be looked at for."""
