"""Videos as HLS, also while they are being rendered."""
