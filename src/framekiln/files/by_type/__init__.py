"""Files by what they are for: older interfaces have an address for each type."""
