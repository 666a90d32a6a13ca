# SPDX-License-Identifier: MIT
"""pprof's wire format, in the few shapes that tests write: a message is joined bytes of fields."""


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out) + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, *parts):
    body = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(body)) + body


def text(field, value):
    return message(field, value.encode())


def packed(field, *values):
    return message(field, *map(varint, values))
