"""Links: signed addresses of media that work without a key until they expire or are revoked."""
