"""Looking through a film: samples at exact times, shot changes, small pictures."""
