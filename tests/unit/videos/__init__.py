"""Unit tests of videos."""
