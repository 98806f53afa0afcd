"""Analysis of videos: sampled frames, scene cuts, thumbnails."""
