"""Archives: which cells there are, what is inserted into them, their files, and pictures of them."""

from gaits.archives.archive import (
    KINDS,
    NEW,
    NO_SEED,
    NOT_ADDED,
    SEED,
    Archive,
    Insertions,
    insert,
    load,
    load_objectives,
    make_archive,
    sample_rows,
    sample_solutions,
    save,
    summary,
    to_arrays,
)

__all__ = [
    "KINDS",
    "NEW",
    "NOT_ADDED",
    "NO_SEED",
    "SEED",
    "Archive",
    "Insertions",
    "insert",
    "load",
    "load_objectives",
    "make_archive",
    "sample_rows",
    "sample_solutions",
    "save",
    "summary",
    "to_arrays",
]
