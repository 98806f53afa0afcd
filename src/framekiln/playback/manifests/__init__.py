"""The three ways of telling players what there is: HLS, DASH and JSON. Pure text."""
