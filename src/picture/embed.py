#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c NAME=FILE[+FILE...]...: texts as C arrays, for picture/assets.h.

The files of a name are joined. Modules (*.js that export) become parts of one script, each in a
function of its own, so that they share what they export and nothing else: what one imports must be
exported by a file before it. A script must not hold what would end its element in the page. Of a NAME
that ends in ":packed" the text is deflated and in base64; the hash is of what it was.
"""
import base64
import hashlib
import pathlib
import re
import sys
import zlib

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:const|class) (\w+))", re.M)


def join_modules(paths):
    exported, joined = {}, []
    for path in paths:
        text = path.read_text()
        for wanted, source in IMPORT.findall(text):
            for name in filter(None, re.split(r"[\s,]+", wanted)):
                if exported.get(name) != source:
                    sys.exit(f"{path}: imports {name}, which no {source} before it exports")
        names = EXPORT.findall(text)
        for name in names:
            if exported.setdefault(name, path.name) != path.name:
                sys.exit(f"{path}: {name} is exported by {exported[name]} already")
        is_module = names or IMPORT.search(text)
        text = EXPORT.sub("", IMPORT.sub("", text))
        if re.search(r"^(import|export)\b", text, re.M):
            sys.exit(f"{path}: an import or export that embed.py does not know")
        if is_module:
            list_of = ", ".join(names)
            text = f'const {{ {list_of} }} = (() => {{\n"use strict";\n{text}return {{ {list_of} }};\n}})();\n'
        joined.append(text)
    return "".join(joined).encode()


def asset(name, paths):
    name, _, packed = name.partition(":")
    paths = [pathlib.Path(path) for path in paths]
    if all(path.suffix == ".js" for path in paths):
        text = join_modules(paths)
    else:
        text = b"".join(path.read_bytes() for path in paths)
    for end in (b"</script", b"</style", b"<!--", b"]]>"):
        if end in text:
            sys.exit(f"{paths}: holds {end.decode()}, which ends the element it stands in")
    digest = base64.b64encode(hashlib.sha256(text).digest()).decode()
    if packed:
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        text = base64.b64encode(packer.compress(text) + packer.flush())
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
