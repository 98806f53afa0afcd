"""The slices of a transcription, each the work of one job."""
