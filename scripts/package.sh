#!/bin/sh
# SPDX-License-Identifier: MIT
# package.sh [FOLDER]: makes packages of this commit in FOLDER (dist): cairn, cairn-agent, libcairn0 and libcairn-dev as
# .deb for this system, and one .tar.gz of the command without shared libraries, with an installer. Two runs on one commit and one
# system make the same bytes: times are the commit's, paths are relative.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
out=${1:-$root/dist}
cd "$root"

SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH LC_ALL=C TZ=UTC
umask 022

number=$(sed -n "s/.*version: '\([0-9.]*\)'.*/\1/p" meson.build | head -n 1)
# A commit that no tag names comes before the version: "~" sorts so (deb-version(7)).
if [ "$(git describe --exact-match --tags 2>/dev/null || :)" = "v$number" ]; then
    version=$number
else
    version=$number~$(date -d "@$SOURCE_DATE_EPOCH" +%Y%m%d).g$(git rev-parse --short=8 HEAD)
fi
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
    echo "run: package: changes that are not committed are in the packages, but not in their version" >&2
arch=$(dpkg --print-architecture)
triple=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
maintainer="${DEBFULLNAME:-The cairn authors} <${DEBEMAIL:-nobody@localhost}>" # who packs it says who they are

work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-package.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# build FOLDER [OPTION...]: for speed; neither the source's place nor the build's gets into the files.
build() {
    folder=$1
    shift
    map="-ffile-prefix-map=$root=. -ffile-prefix-map=$folder=build"
    CFLAGS="$map" meson setup "$folder" --buildtype=release -Doptimization=2 -Dtests=disabled -Djni=disabled \
        -Dstrip=false "$@" >"$work/setup.log" || {
        cat "$work/setup.log" >&2
        exit 1
    }
}

# write PATH: stdin
write() {
    mkdir -p "$(dirname "$1")"
    cat >"$1"
}

changelog() {
    cat <<TEXT
$1 ($version) unstable; urgency=medium

$(git log -1 --format=%s | fold -s -w 72 | sed '1s/^/  * /; 2,$s/^/    /; s/ *$//')

 -- $maintainer  $(date -R -d "@$SOURCE_DATE_EPOCH")
TEXT
}

copyright() {
    cat <<TEXT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cairn

Files: *
Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE)
License: Expat

Files: src/bpf/*.bpf.c src/bpf/*.bpf.h
Copyright: $(sed -n 's/^Copyright (c) //p' LICENSE)
License: Expat or GPL-2.0
Comment: the programs that the kernel loads declare "Dual MIT/GPL".

License: Expat
$(sed -n '5,$p' LICENSE | sed 's/^$/./; s/^/ /')

License: GPL-2.0
 On Debian systems the text is in /usr/share/common-licenses/GPL-2.
TEXT
}

# depends PACKAGE FILE...: what dpkg-shlibdeps says of them.
depends() {
    name=$1
    shift
    mkdir -p "$work/shlibs/debian"
    printf 'Source: cairn\nMaintainer: %s\n\nPackage: %s\nArchitecture: any\nDescription: x\n' \
        "$maintainer" "$name" >"$work/shlibs/debian/control"
    (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info -l"$work/all/usr/lib/$triple" "$@" 2>/dev/null) |
        sed -n 's/^shlibs:Depends=//p'
}

# pack NAME SECTION DEPENDS SUMMARY: the tree $work/NAME becomes a package; stdin is its description.
pack() {
    tree=$work/$1
    doc=$tree/usr/share/doc/$1
    mkdir -p "$doc" "$tree/DEBIAN"
    copyright >"$doc/copyright"
    changelog cairn | gzip -9n >"$doc/changelog.gz"
    find "$tree/usr/share/man" -name '*.1' -exec gzip -9n {} + 2>/dev/null || :
    size=$(du -k -s --apparent-size "$tree/usr" | cut -f1)
    {
        printf 'Package: %s\nSource: cairn\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' \
            "$1" "$version" "$arch" "$maintainer"
        [ "${1#lib}" = "$1" ] || printf 'Multi-Arch: same\n'
        printf 'Installed-Size: %s\nSection: %s\nPriority: optional\n' "$size" "$2"
        [ -z "$3" ] || printf 'Depends: %s\n' "$3"
        [ "$1" != cairn ] || printf 'Recommends: libcairn0 (= %s)\nSuggests: bash-completion\n' "$version"
        printf 'Description: %s\n' "$4"
        sed 's/^$/./; s/^/ /'
    } >"$tree/DEBIAN/control"
    (cd "$tree" && find usr lib -type f 2>/dev/null | sort | xargs -r -d '\n' md5sum) >"$tree/DEBIAN/md5sums"
    [ "$1" != libcairn0 ] || {
        printf 'activate-noawait ldconfig\n' >"$tree/DEBIAN/triggers"
        for library in "$tree/usr/lib/$triple"/*.so.0; do
            base=$(basename "$library" .so.0)
            echo "$base 0 libcairn0 (>= $number~)"
        done | sort >"$tree/DEBIAN/shlibs"
    }
    find "$tree" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    dpkg-deb --build --root-owner-group -Zxz "$tree" "$out/$1_${version}_$arch.deb" >/dev/null
    echo "$out/$1_${version}_$arch.deb"
}

# move PACKAGE PATH...: from the whole installation, relative to /usr; patterns are expanded there.
move() {
    package=$1
    shift
    for pattern; do
        for path in "$work/all/usr/"$pattern; do
            [ -e "$path" ] || [ -L "$path" ] || continue
            target=$work/$package/usr/${path#"$work/all/usr/"}
            mkdir -p "$(dirname "$target")"
            mv "$path" "$target"
        done
    done
}

make_debs() {
    build "$work/build" -Dstatic_ncurses=false --prefix=/usr --libdir="lib/$triple" --libexecdir=lib
    ninja -C "$work/build" --quiet
    DESTDIR="$work/all" meson install -C "$work/build" --no-rebuild --quiet
    find "$work/all" -type f \( -name '*.so.*' -o -perm -100 ! -name '*.so.*' \) |
        while read -r file; do strip --strip-unneeded --remove-section=.comment --remove-section=.note "$file"; done
    find "$work/all" -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
    chmod 644 "$work/all/usr/lib/$triple"/*.so.*
    cairn_needs=$(depends cairn "$work/all/usr/bin/cairn")
    library_needs=$(depends libcairn0 "$work/all/usr/lib/$triple"/*.so.0.*)
    move cairn bin lib/cairn share/man share/bash-completion share/zsh/site-functions share/fish
    mkdir -p "$work/cairn/usr/share/zsh"
    [ ! -d "$work/cairn/usr/share/zsh/site-functions" ] ||
        mv "$work/cairn/usr/share/zsh/site-functions" "$work/cairn/usr/share/zsh/vendor-completions"
    move libcairn0 "lib/$triple/*.so.0*"
    move libcairn-dev include "lib/$triple/*"
    left=$(find "$work/all" ! -type d)
    [ -z "$left" ] || {
        echo "run: package: in no package: $left" >&2
        exit 1
    }
    pack cairn devel "$cairn_needs" "call stacks of native programs: caught, named and shown" <<'TEXT'
Cheap stacks of heap blocks, samples, system calls and stuck processes of
released, stripped programs, without frame pointers and without their help;
names with symbols that are kept elsewhere; flame graphs, leak reports, and
what other viewers read. C, C++, Lua and the kernel in one stack.

libcairn0 has the tracker that "cairn heap" loads into programs.
TEXT
    pack libcairn0 libs "$library_needs" "call stacks of native programs - libraries" <<'TEXT'
The libraries of cairn: symbolizer, unwinder, hooks, and the tracker of heap
blocks that is loaded into programs.
TEXT
    pack libcairn-dev libdevel "libcairn0 (= $version), libbpf-dev, liblzma-dev, libzstd-dev, zlib1g-dev" "call stacks of native programs - for developers" <<'TEXT'
Headers, static libraries and pkg-config files of cairn's libraries.
TEXT
}

# script NAME: stdin becomes a maintainer script of cairn-agent.
script() {
    cat >"$work/cairn-agent/DEBIAN/$1"
    chmod 755 "$work/cairn-agent/DEBIAN/$1"
}

# The service starts with the machine and now, where systemd runs; what it kept goes with purge.
make_agent() {
    mkdir -p "$work/cairn-agent/DEBIAN" "$work/cairn-agent/lib/systemd/system" "$work/cairn-agent/etc/cairn" "$work/cairn-agent/usr"
    cp contrib/systemd/cairn-agent.service "$work/cairn-agent/lib/systemd/system/"
    cp contrib/systemd/agent.conf "$work/cairn-agent/etc/cairn/"
    echo /etc/cairn/agent.conf >"$work/cairn-agent/DEBIAN/conffiles"
    script postinst <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = configure ] && [ -d /run/systemd/system ]; then
    systemctl daemon-reload
    if [ -z "$2" ]; then
        systemctl enable --now cairn-agent.service || :
    else
        systemctl try-restart cairn-agent.service || :
    fi
fi
TEXT
    script prerm <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = remove ] && [ -d /run/systemd/system ]; then
    systemctl disable --now cairn-agent.service || :
fi
TEXT
    script postrm <<'TEXT'
#!/bin/sh
set -e
if [ "$1" = purge ]; then
    rm -rf /var/lib/cairn-agent /var/cache/cairn-agent
    [ ! -d /etc/cairn ] || rmdir --ignore-fail-on-non-empty /etc/cairn
fi
[ ! -d /run/systemd/system ] || systemctl daemon-reload || :
TEXT
    pack cairn-agent utils "cairn (= $version), libcurl4" "call stacks of native programs - all the time" <<'TEXT'
A service that samples all processes of the machine within a budget, keeps a
profile for each ten seconds of the last day, and sends them to a store for
profiles where one is named in /etc/cairn/agent.conf.
TEXT
}

installer() {
    cat <<'TEXT'
#!/bin/sh
# install.sh [PREFIX]: copies cairn to PREFIX/bin (/usr/local), its pages to PREFIX/share/man/man1, and what
# shells complete it by. Nothing else is touched; uninstall.txt lists what was copied.
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
prefix=${1:-/usr/local}
cd "$here/files"
find . -type f | while read -r file; do
    mkdir -p "$prefix/$(dirname "$file")"
    cp "$file" "$prefix/$file"
    echo "$prefix/${file#./}"
done >"$here/uninstall.txt"
echo "installed below $prefix; to remove it: xargs rm <$here/uninstall.txt"
TEXT
}

make_static() {
    name=cairn-$version-$(uname -m)
    tree=$work/$name
    build "$work/static" -Dstatic_command=true --prefix=/usr
    ninja -C "$work/static" --quiet cairn cli/completions/cairn cli/completions/_cairn cli/completions/cairn.fish
    mkdir -p "$tree/files/bin" "$tree/files/share/man/man1"
    strip -o "$tree/files/bin/cairn" "$work/static/cairn"
    cp docs/man/*.1 "$tree/files/share/man/man1/"
    for place in cairn=bash-completion/completions/cairn _cairn=zsh/site-functions/_cairn \
        cairn.fish=fish/vendor_completions.d/cairn.fish; do
        mkdir -p "$(dirname "$tree/files/share/${place#*=}")"
        cp "$work/static/cli/completions/${place%%=*}" "$tree/files/share/${place#*=}"
    done
    cp LICENSE README.md "$tree/"
    installer >"$tree/install.sh"
    chmod -R u=rwX,go=rX "$tree"
    chmod 755 "$tree/install.sh" "$tree/files/bin/cairn"
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$name" |
        gzip -9n >"$out/$name.tar.gz"
    echo "$out/$name.tar.gz"
}

mkdir -p "$out"
make_debs
make_agent
make_static
