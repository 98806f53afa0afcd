"""Errors of the blob store."""

from framekiln.kit.errors import InvalidInput, NotFound, Outage


class BlobNotFound(NotFound):
    """Nothing is stored under that key."""

    code = "blob_not_found"


class BlobKeyInvalid(InvalidInput):
    """The key is not portable between stores, or points outside its folder."""

    code = "blob_key_invalid"


class StorageUrlInvalid(InvalidInput):
    """The storage URL is not of a supported kind."""

    code = "storage_url_invalid"


class BucketCredentialsInvalid(InvalidInput):
    """Credentials of a caller's bucket cannot sign an upload."""

    code = "bucket_credentials_invalid"


class StorageUnavailable(Outage):
    """The store failed; a retry may succeed."""

    code = "storage_unavailable"
