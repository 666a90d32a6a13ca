#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUT.c NAME=FILE[+FILE...]...: texts as C arrays, for picture/assets.h.

The files of a name are joined. Modules (*.js with import or export) become parts of one script, in
which a name means one thing: what one imports must be exported by a file before it. A script must not
hold what would end its element in the page.
"""
import base64
import hashlib
import pathlib
import re
import sys

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w.]+)";\n', re.M)
EXPORT = re.compile(r"^export (?=(?:async )?(?:const|let|class|function) )", re.M)
TOP = re.compile(r"^(?:export )?(?:async )?(?:const|let|class|function) (?:(\w+)|\{([^}]*)\})", re.M)


def names_in(found):
    return {name for one, many in found for name in [one, *re.split(r"[\s,]+", many)] if name}


def join_modules(paths):
    exported, owner, joined = {}, {}, []
    for path in paths:
        text, name = path.read_text(), path.name
        for wanted, source in IMPORT.findall(text):
            for one in filter(None, re.split(r"[\s,]+", wanted)):
                if one not in exported.get(source, ()):
                    sys.exit(f"{path}: imports {one}, which no {source} before it exports")
        for one in names_in(TOP.findall(text)):
            if owner.setdefault(one, path) != path:
                sys.exit(f"{path}: {one} is declared in {owner[one]} already")
        exported[name] = names_in(TOP.findall("\n".join(re.findall(r"^export .*", text, re.M))))
        joined.append(EXPORT.sub("", IMPORT.sub("", text)))
        if re.search(r"^(import|export)\b", joined[-1], re.M):
            sys.exit(f"{path}: an import or export that embed.py does not know")
    return "".join(joined).encode()


def asset(name, paths):
    paths = [pathlib.Path(path) for path in paths]
    if all(path.suffix == ".js" for path in paths):
        text = join_modules(paths)
    else:
        text = b"".join(path.read_bytes() for path in paths)
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
