"""Protocol buffers without their library: numbers and fields. https://protobuf.dev/programming-guides/encoding/"""

from collections.abc import Iterator

from ...errors import CheckpointError


def varint(data: memoryview, position: int, end: int, where: str) -> tuple[int, int]:
    """Read a number, seven bits a byte, the lowest first.

    Returns:
        The number, and the position after it.

    Raises:
        CheckpointError: the number reaches beyond `end`.
    """
    value = 0
    for shift in range(0, 70, 7):
        if position >= end:
            break
        byte = data[position]
        value, position = value | (byte & 0x7F) << shift, position + 1
        if byte < 0x80:
            return value, position
    raise CheckpointError(f"{where}: byte {position}: a number of a protocol buffer has no end")


def fields(data: memoryview, where: str) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the number and the value of each field of a message: an integer, or the bytes of any other value.

    Raises:
        CheckpointError: a field reaches beyond the message, or has an unknown wire type.
    """
    position, end = 0, len(data)
    while position < end:
        tag, position = varint(data, position, end, where)
        if tag & 7 == 0:
            number, position = varint(data, position, end, where)
            yield tag >> 3, number
            continue
        size = {1: 8, 5: 4}.get(tag & 7, -1)
        if tag & 7 == 2:
            size, position = varint(data, position, end, where)
        if size < 0 or position + size > end:
            raise CheckpointError(f"{where}: byte {position}: a field of a protocol buffer reaches beyond its message")
        yield tag >> 3, data[position : position + size]
        position += size
