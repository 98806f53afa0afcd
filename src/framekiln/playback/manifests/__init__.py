"""The three manifest formats: HLS, DASH and JSON. Pure."""
