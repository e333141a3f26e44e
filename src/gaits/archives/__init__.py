"""Archives: which cells there are, what is inserted into them, their files, and pictures of them."""

from gaits.archives.archive import (
    IMPROVED,
    KINDS,
    NEW,
    NOT_ADDED,
    REFUSED,
    Archive,
    Insertions,
    Kind,
    insert,
    load,
    load_objectives,
    make_archive,
    save,
    summary,
)

__all__ = [
    "IMPROVED",
    "KINDS",
    "NEW",
    "NOT_ADDED",
    "REFUSED",
    "Archive",
    "Insertions",
    "Kind",
    "insert",
    "load",
    "load_objectives",
    "make_archive",
    "save",
    "summary",
]
