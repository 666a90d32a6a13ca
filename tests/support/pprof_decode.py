# SPDX-License-Identifier: MIT
"""Profiles of pprof as tests and measurements read them back: what they hold is believed."""
import collections
import gzip


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        found.append(number)
    return found


class Sample:
    """A stack of numbers of locations, values, labels (texts or numbers), and the numbers' units."""

    def __init__(self):
        self.stack, self.values, self.labels, self.units = [], [], {}, {}


class Profile:
    """Samples as (stack of location ids, values, labels), locations as (mapping, address)."""

    def __init__(self, path):
        with gzip.open(path) as file:
            data = file.read()
        parts = collections.defaultdict(list)
        for number, value in fields(data):
            parts[number].append(value)
        self.strings = [text.decode(errors="replace") for text in parts[6]]
        self.time_ns = next(iter(parts[9]), 0)
        self.comments = [self.strings[i] for value in parts[13] for i in numbers(value)]
        self.mappings = {m.get(1): m for m in (dict(fields(part)) for part in parts[3])}
        self.types = [dict(fields(part)).get(1, 0) for part in parts[1]]
        self.functions = {f[1]: self.strings[f.get(2, 0)] for f in (dict(fields(part)) for part in parts[5])}
        self.lines = collections.defaultdict(list)
        self.locations = {}
        for part in parts[4]:
            place = dict(fields(part))
            self.locations[place[1]] = (place.get(2), place.get(3, 0))
            self.lines[place[1]] = [dict(fields(line)).get(1, 0) for number, line in fields(part) if number == 4]
        self.samples = [self.read_sample(part) for part in parts[2]]

    def read_sample(self, part):
        sample = Sample()
        for number, value in fields(part):
            if number == 1:
                sample.stack += numbers(value)
            elif number == 2:
                sample.values += numbers(value)
            elif number == 3:
                label = dict(fields(value))
                text = self.strings[label[2]] if label.get(2) else label.get(3, 0)
                name = self.strings[label[1]]
                sample.labels[name] = text
                sample.units[name] = self.strings[label.get(4, 0)]
        return sample

    def functions_at(self, location):
        """Names of the functions of a location, the innermost one first."""
        return [self.functions[number] for number in self.lines[location]]
