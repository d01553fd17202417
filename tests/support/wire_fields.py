"""Protobuf messages written byte by byte, for tests that need no generated code."""


def field(number, data):
    """A length-delimited field."""
    size, prefix = len(data), b""
    while size >= 128:
        prefix += bytes([size % 128 + 128])
        size //= 128
    return bytes([number << 3 | 2]) + prefix + bytes([size]) + data
