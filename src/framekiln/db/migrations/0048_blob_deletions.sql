-- Blobs whose rows are gone, until they are deleted. A path that ends with / means all under it.
CREATE TABLE blob_deletion (
    path text PRIMARY KEY,
    attempts integer NOT NULL DEFAULT 0
);
