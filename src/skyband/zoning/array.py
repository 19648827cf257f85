"""Arrays as text, to the last bit."""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt


def to_text(array: npt.NDArray[Any]) -> dict[str, Any]:
    """An array as its type, its shape and its bytes, least first, in base64."""
    kind = array.dtype.newbyteorder("<")
    content = np.ascontiguousarray(array, kind).tobytes()
    return {"type": kind.str, "shape": list(array.shape), "bytes": base64.b64encode(content).decode("ascii")}


def from_text(text: dict[str, Any]) -> npt.NDArray[Any]:
    """The array that `to_text` wrote."""
    kind = np.dtype(text["type"])
    array = np.frombuffer(base64.b64decode(text["bytes"]), kind).reshape(text["shape"])
    return array.astype(kind.newbyteorder("="))
