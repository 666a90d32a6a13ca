# SPDX-License-Identifier: MIT
"""What a pprof file says, as far as tests ask: samples with their values and labels."""
import gzip
import sys


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7f) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            sys.exit(f"wire type {key & 7}")
        yield key >> 3, value


def packed(data):
    at, values = 0, []
    while at < len(data):
        value, at = varint(data, at)
        values.append(value)
    return values


class Profile:
    """time_ns, and samples: (values, {label: text, or number}, {label: unit of a number})."""

    def __init__(self, path):
        with gzip.open(path) as file:
            top = list(fields(file.read()))
        self.strings = [value.decode() for field, value in top if field == 6]
        self.time_ns = next((value for field, value in top if field == 9), 0)
        self.samples = [self.sample(value) for field, value in top if field == 2]

    def sample(self, data):
        parts = list(fields(data))
        values = [value for number, value in parts if number == 2]
        labels, units = {}, {}
        for number, value in parts:
            if number == 3:
                label = dict(fields(value))
                name = self.strings[label[1]]
                labels[name] = self.strings[label[2]] if label.get(2) else label.get(3, 0)
                if label.get(4):
                    units[name] = self.strings[label[4]]
        return packed(values[0]) if isinstance(values[0], bytes) else values, labels, units
