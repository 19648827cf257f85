"""The types of arrays, by what they hold."""

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Int8s = npt.NDArray[np.int8]
Int16s = npt.NDArray[np.int16]
Int32s = npt.NDArray[np.int32]
Int64s = npt.NDArray[np.int64]
UInt16s = npt.NDArray[np.uint16]
UInt64s = npt.NDArray[np.uint64]
Float32s = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
