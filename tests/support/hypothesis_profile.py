"""How hypothesis runs here: its examples may take as long as the machine needs.

Loaded by importing it, before any test module.
"""

from hypothesis import HealthCheck, settings

NAME = "framekiln"

settings.register_profile(
    NAME, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(NAME)
