"""Playback of sources in browsers: immediate manifests, segments on demand."""
