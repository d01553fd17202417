"""Reads .npz files as numpy.load does, without NumPy."""

import ast
import dataclasses
import math
import struct
import zipfile


@dataclasses.dataclass
class Array:
    type: str  # "<f4" and the like
    shape: tuple
    data: bytes

    def integers(self):
        return list(struct.unpack(f"<{math.prod(self.shape)}i", self.data))

    def texts(self):
        """Code points in 4 bytes each, shorter texts filled up with zeros."""
        width = 4 * int(self.type.removeprefix("<U"))
        return [self.data[begin : begin + width].decode("utf-32-le").rstrip("\0")
                for begin in range(0, len(self.data), width)]


def parse_npy(content):
    if content[:8] != b"\x93NUMPY\x01\x00":
        raise ValueError(f"not version 1.0 of the .npy format: {content[:8]}")
    (length,) = struct.unpack("<H", content[8:10])
    if (10 + length) % 64 != 0 or content[9 + length : 10 + length] != b"\n":
        raise ValueError("the data do not begin where NumPy wants them to")
    header = ast.literal_eval(content[10 : 10 + length].decode("latin-1"))
    if sorted(header) != ["descr", "fortran_order", "shape"] or header["fortran_order"]:
        raise ValueError(f"unexpected header: {header}")
    array = Array(header["descr"], header["shape"], content[10 + length :])
    if len(array.data) != math.prod(array.shape) * 4 * int(array.type[2:] if "U" in array.type else 1):
        raise ValueError(f"{len(array.data)} bytes for {header}")
    return array


def read(file):
    """{name: Array}, in the file's order; every checksum is compared."""
    with zipfile.ZipFile(file) as archive:
        return {name.removesuffix(".npy"): parse_npy(archive.read(name))
                for name in archive.namelist()}
