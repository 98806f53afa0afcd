-- The MD5 of a render's output, for its events; null for outputs that earlier versions made.
ALTER TABLE render ADD COLUMN output_md5 text;
