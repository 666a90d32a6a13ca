# SPDX-License-Identifier: MIT
"""The columns of a page that `cairn flame` wrote, read from what src/picture/html.c says of them and
by nothing that cairn has."""
import base64
import html.parser
import json
import zlib


class Elements(html.parser.HTMLParser):
    """Text of the elements whose id begins with data-, and all tags, as a browser would see them."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.blocks, self.tags, self.at = {}, [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        own = dict(attrs).get("id") or ""
        self.at = own[5:] if own.startswith("data-") else None
        if self.at is not None:
            assert self.at not in self.blocks, f"the column {self.at} is there twice"
            self.blocks[self.at] = ""

    def handle_endtag(self, tag):
        self.at = None

    def handle_data(self, data):
        if self.at is not None:
            self.blocks[self.at] += data


def zigzag(number):
    return -(number + 1) // 2 if number % 2 else number // 2


def inflate(text):
    reader = zlib.decompressobj(-15)
    out = reader.decompress(base64.b64decode(text, validate=True))
    assert reader.eof and not reader.unused_data, "a stream ends early or goes on"
    return out


class Page:
    def __init__(self, path):
        parsed = Elements(path.read_text())
        self.blocks, self.tags = parsed.blocks, parsed.tags
        self.meta = json.loads(self.blocks["meta"])
        self.n = self.meta["nodes"]
        self.sides = len(self.meta["sides"])
        self.texts = self.text_block("texts")
        self.looks = self.numbers("looks")
        self.depths = self.read_depths()
        assert len(self.looks) == len(self.depths) - 1 == self.n - 1
        self.fields = {}
        for id in ("name", "short", "file", "module", "path", "build", "low", "high", "kind", "shade",
                   "found", "flags"):
            column = self.numbers(f"look-{id}")
            assert len(column) == self.meta["looks"], id
            texts = id in ("name", "short", "file", "module", "path", "build")
            self.fields[id] = [self.texts[i] for i in column] if texts else column
        self.fields["short"] = [short or name for name, short in
                                zip(self.fields["name"], self.fields["short"])]
        self.sets = self.read_sets()

    def text_block(self, id):
        packed = self.blocks[id]
        parts = inflate(packed).decode().split("\0") if packed else [""]
        assert parts.pop() == "", f"{id} has no NUL at its end"
        return parts

    def numbers(self, id):
        planes = [inflate(plane) for plane in self.blocks[id].split(".") if plane]
        assert len({len(plane) for plane in planes}) <= 1, f"planes of {id} differ in length"
        return [sum(byte << 8 * k for k, byte in enumerate(row)) for row in zip(*planes)]

    def signed(self, id, scale=1):
        return [zigzag(number) * scale for number in self.numbers(id)]

    def read_depths(self, prefix=""):
        depths, depth = [0], 0
        for climbed in self.numbers(f"{prefix}steps"):
            depth += 1 - climbed
            depths.append(depth)
        return depths

    def read_sets(self):
        sizes = self.numbers("set-size")
        labels = zip(*(self.numbers(f"label-{id}") for id in ("key", "text")),
                     self.signed("label-number"), self.numbers("label-unit"))
        labels = [(self.texts[key], self.texts[text] if text else number, self.texts[unit])
                  for key, text, number, unit in labels]
        sets = []
        for size in sizes:
            sets.append(labels[:size])
            labels = labels[size:]
        assert not labels
        return sets

    def rows(self, side=0, tree=""):
        """[node, labels, microseconds or None, values of all types], or None. `tree` begins the names
        of the columns of another tree."""
        if not self.meta["rows"]:
            return None
        prefix, node, time, rows = ("old-" if side else "") + tree, 0, 0, []
        nodes, sets = self.numbers(f"{prefix}row-node"), self.numbers(f"{prefix}row-set")
        times = self.signed(f"{prefix}row-time") or [0] * len(nodes)
        values = [self.signed(f"{prefix}row-{i}", kind["scale"])
                  for i, kind in enumerate(self.meta["types"])]
        assert len(nodes) == len(sets) == len(times)
        for step, number, later, *own in zip(nodes, sets, times, *values):
            node, time = node + step, time + later
            rows.append((node, self.sets[number], time - 1 if time else None, own))
        return rows

    def selves(self, kind, side=0, tree=""):
        """By node."""
        rows, n = self.rows(side, tree), len(self.numbers(f"{tree}steps")) + 1
        if rows is None:
            column = self.signed(f"{'old-' if side else ''}{tree}self-{kind}", self.meta["types"][kind]["scale"])
            assert len(column) == n
            return column
        selves = [0] * n
        for node, _, _, values in rows:
            selves[node] += values[kind]
        return selves

    def paths(self):
        """By node: the numbers of the looks from the root on."""
        paths, path = [()], ()
        for look, depth in zip(self.looks, self.depths[1:]):
            path = path[:depth - 1] + (look,)
            paths.append(path)
        return paths

    def names(self):
        """By node: the names from the root on."""
        names = self.fields["name"]
        return [tuple(names[look] for look in path) for path in self.paths()]

    def heat(self, kind, side=0):
        """(look, line) to [self, total], by the tree of lines."""
        if "heat-look" not in self.blocks:
            return {}
        spots = list(zip(self.numbers("heat-look"), self.numbers("heat-line"), strict=True))
        assert sorted(set(spots)) == spots
        depths = self.read_depths("heat-")
        sums, path = {spot: [0, 0] for spot in spots}, ()
        for own, depth, value in zip(self.numbers("heat-looks"), depths[1:], self.selves(kind, side, "heat-")[1:], strict=True):
            path = path[:depth - 1] + (spots[own] if own < len(spots) else None,)
            assert path[-1] or own - len(spots) < self.meta["looks"]
            for spot in set(path) - {None}:
                sums[spot][1] += value
            if path[-1]:
                sums[path[-1]][0] += value
        return sums

    def source(self):
        """File to lines: number to text."""
        files = {}
        if "source-texts" in self.blocks:
            texts = self.text_block("source-texts")
            for file, line, text in zip(self.numbers("source-file"), self.numbers("source-line"), texts,
                                        strict=True):
                files.setdefault(self.texts[file], {})[line] = text
        return files

    def functions(self, kind, side=0):
        """(name, file, module) to [self, total]; what is twice on one stack counts once in its total."""
        keys = list(zip(*(self.fields[id] for id in ("name", "file", "module"))))
        rows = {key: [0, 0] for key in keys}
        for path, value in zip(self.paths(), self.selves(kind, side)):
            if path:
                rows[keys[path[-1]]][0] += value
            for key in {keys[look] for look in path}:
                rows[key][1] += value
        return rows
