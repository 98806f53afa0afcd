"""ISO base media files (fragmented MP4), parsed in pure Python without a codec library."""
