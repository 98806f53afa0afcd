"""What can go wrong between us and the blob store."""

from framekiln.kit.errors import InvalidInput, NotFound, Unavailable


class BlobNotFound(NotFound):
    """Nothing is stored under that key."""

    code = "blob_not_found"


class BlobKeyInvalid(InvalidInput):
    """The key could not be stored everywhere, or would reach outside its place."""

    code = "blob_key_invalid"


class StorageUrlInvalid(InvalidInput):
    """The storage address is of no kind we can open."""

    code = "storage_url_invalid"


class StorageUnavailable(Unavailable):
    """The store did not do what was asked; it may later."""

    code = "storage_unavailable"
