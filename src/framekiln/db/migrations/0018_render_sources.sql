-- Sources that are read where they lie, part by part: all parts of a render are of one version.

CREATE TABLE render_source (
    render_id uuid NOT NULL REFERENCES render (id) ON DELETE CASCADE,
    url_sha256 bytea NOT NULL,
    size_bytes bigint NOT NULL,
    etag text,
    modified text,
    PRIMARY KEY (render_id, url_sha256)
);
