"""Bulks: many videos of one template, a row of data for each."""
