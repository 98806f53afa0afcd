"""The profile of hypothesis: its examples have no deadline.

Importing it loads the profile; import it before any test module.
"""

from hypothesis import HealthCheck, settings

NAME = "framekiln"

settings.register_profile(
    NAME, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(NAME)
