#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c NAME=FILE[+FILE...]...: texts as C arrays, for picture/assets.h.

The files of a name are joined. A script must not hold what would end its element in the page.
"""
import base64
import hashlib
import sys


def asset(name, paths):
    text = b"".join(open(path, "rb").read() for path in paths)
    for end in (b"</script", b"</style", b"<!--", b"]]>"):
        if end in text:
            sys.exit(f"{paths}: holds {end.decode()}, which ends the element it stands in")
    digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
    rows = [text[i : i + 20] for i in range(0, len(text), 20)]
    body = "\n".join("    " + ",".join(map(str, row)) + "," for row in rows)
    return f"""static const uint8_t {name}_text[] = {{
{body}
}};
const struct cairn_asset cairn_asset_{name} = {{
    {{{name}_text, sizeof {name}_text}}, "sha256-{digest}"}};
"""


def main():
    out, *specs = sys.argv[1:]
    parts = ['/* Made by embed.py. */\n#include "picture/assets.h"\n']
    for spec in specs:
        name, paths = spec.split("=", 1)
        parts.append(asset(name, paths.split("+")))
    with open(out, "w") as file:
        file.write("\n".join(parts))


main()
