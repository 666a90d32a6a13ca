# SPDX-License-Identifier: MIT
"""Pictures as a few numbers that other fonts hardly change, from the PNGs that Chromium writes."""
import struct
import zlib


def read_png(path):
    """Width, height and rows of RGB bytes, for what Chromium writes: 8 bits, not interlaced."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        chunk = data[at + 8:at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", chunk[:10])
            assert depth == 8 and colour in (2, 6), "an unexpected kind of PNG"
        elif kind == b"IDAT":
            packed += chunk
        at += 12 + size
    step = 3 if colour == 2 else 4
    raw, stride, before, rows = zlib.decompress(packed), width * step, bytes(width * step), []
    for y in range(height):
        kind = raw[y * (stride + 1)]
        row = bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - step] if i >= step else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + before[i]) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + before[i]) // 2) & 255
            elif kind == 4:
                corner = before[i - step] if i >= step else 0
                guess = left + before[i] - corner
                near = min((abs(guess - left), 0, left), (abs(guess - before[i]), 1, before[i]),
                           (abs(guess - corner), 2, corner))
                row[i] = (row[i] + near[2]) & 255
        before = bytes(row)
        rows.append(row if step == 3 else bytes(b for i, b in enumerate(row) if i % 4 != 3))
    return width, height, rows


COLUMNS, LINES = 32, 20


def coarse(picture):
    """Mean colours of 32 x 20 fields: what is left of a picture that no font changes much."""
    width, height, rows = picture
    step, grid = 2 if height > 400 else 1, []
    for line in range(LINES):
        for column in range(COLUMNS):
            y0, y1 = line * height // LINES, (line + 1) * height // LINES
            x0, x1 = column * width // COLUMNS, (column + 1) * width // COLUMNS
            part = b"".join(rows[y][3 * x0:3 * x1] for y in range(y0, y1, step))
            grid.append([sum(part[c::3]) * 3 // len(part) for c in range(3)])
    return grid


def ink(grid):
    """Of each quarter of the lines, how far its fields are from the paper on average: text alone
    changes no field by much, and all of it missing does."""
    paper, quarter = max(grid, key=grid.count), len(grid) // 4
    return [sum(abs(a - b) for field in grid[k:k + quarter] for a, b in zip(field, paper)) / quarter
            for k in range(0, len(grid), quarter)]
