"""Arrays on their way to the page: a header in JSON, then the arrays' bytes, which the browser reads without copying.

Layout: the header's length (uint32), the header, padded with spaces to a multiple of eight bytes together with the length,
then every array at the offset that the header's ``arrays`` names. Everything is little-endian.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

ALIGNMENT = 8


def pack(header: dict[str, Any], **arrays: np.ndarray) -> bytes:
    places, parts, offset = {}, [], 0
    for name, array in arrays.items():
        data = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        places[name] = {"type": data.dtype.name, "shape": list(data.shape), "offset": offset}
        content = data.tobytes()
        parts.append(content + b"\0" * (-len(content) % ALIGNMENT))
        offset += len(parts[-1])
    text = json.dumps({**header, "arrays": places}, allow_nan=False).encode()
    text += b" " * (-(len(text) + 4) % ALIGNMENT)
    return b"".join([len(text).to_bytes(4, "little"), text, *parts])


def unpack(data: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of :func:`pack`."""
    length = int.from_bytes(data[:4], "little")
    header = json.loads(data[4 : 4 + length])
    arrays = {}
    for name, place in header.pop("arrays").items():
        dtype = np.dtype(place["type"]).newbyteorder("<")
        count = int(np.prod(place["shape"]))
        flat = np.frombuffer(data, dtype, count, 4 + length + place["offset"])
        arrays[name] = flat.reshape(place["shape"])
    return header, arrays


def plain(value: Any) -> Any:
    """Numbers and arrays as JSON has them; what is not finite becomes null."""
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()] if value.dtype.kind == "f" else value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else None
    return value.item() if isinstance(value, np.generic) else value
