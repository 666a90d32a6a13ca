#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh: what `./run package` makes of this commit. Two runs in two places give the same bytes; the packages
# install, work, upgrade and purge clean in a new Debian 12; the archive's installer works without any package; lintian
# has no error. A part of `./run test --full`: it needs root, and a mirror of Debian.
# shellcheck disable=SC2016 # the shell in the tree expands what is quoted
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/../.." && pwd)
passed=0
failed=0
say() { # STATUS CASE
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
        echo "ok      $2"
    else
        failed=$((failed + 1))
        echo "FAILED  $2"
    fi
}
[ "$(id -u)" = 0 ] || { echo "skipped: packages are installed in a tree of their own, which needs root"; exit 77; }
command -v debootstrap >/dev/null || { echo "skipped: debootstrap is missing"; exit 77; }

work=$(mktemp -d "${TMPDIR:-/tmp}/cairn-packages.XXXXXX")
tree=$work/tree
clean_up() {
    umount "$tree/proc" 2>/dev/null || :
    rm -rf --one-file-system "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$work"

export DEBEMAIL=cairn@example.org # who packs it says who they are
for place in one another/place; do
    git -c safe.directory="$root" clone --quiet --no-hardlinks "$root" "$work/$place"
    "$work/$place/scripts/package.sh" "$work/dist-${place%%/*}"
done
same=0
for file in "$work/dist-one"/*; do
    cmp "$file" "$work/dist-another/${file##*/}" || same=1
done
say $same "two runs in two places give the same bytes"

if command -v lintian >/dev/null; then
    status=0
    lintian --fail-on error "$work/dist-one"/*.deb || status=1
    say $status "lintian has no error"
else
    echo "skipped: lintian is missing"
fi

"$root/scripts/debian_tree.sh" "$tree" "$work/debootstrap.log"
mkdir "$tree/dist"
cp "$work/dist-one"/* "$tree/dist/"
mount -t proc proc "$tree/proc"
in_tree() { # COMMAND
    status=0
    env -i HOME=/root TERM=dumb LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        chroot "$tree" sh -c "$1" >"$work/log" 2>&1 </dev/null || status=$?
    [ "$status" = 0 ] || sed 's/^/    /' "$work/log"
    say "$status" "$1"
}

in_tree 'mkdir /x && tar xzf /dist/*.tar.gz -C /x && /x/*/install.sh /opt/cairn && /opt/cairn/bin/cairn version'
in_tree 'cat /x/*/uninstall.txt | xargs rm && [ -z "$(find /opt/cairn -type f)" ]'
in_tree 'apt-get -qq update && apt-get -qq install -y --no-install-recommends /dist/*.deb'
in_tree '[ -s /etc/cairn/agent.conf ] && [ -s /lib/systemd/system/cairn-agent.service ] && cairn agent run --help'
in_tree 'cairn --version && cairn heap run -o /tmp/x.heap -- ls / && cairn heap leaks /tmp/x.heap'
in_tree 'apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config'
cp "$root/examples/symbolize.c" "$tree/tmp/"
in_tree 'gcc -g -o /tmp/s /tmp/symbolize.c $(pkg-config --cflags --libs cairn)'
in_tree '/tmp/s /tmp/s 0x$(nm /tmp/s | sed -n "s/ T main$//p") | grep -q "main.*symbolize.c"'
in_tree 'apt-get -qq install -y --reinstall --allow-downgrades /dist/*.deb && cairn --version'
in_tree 'apt-get -qq purge -y cairn cairn-agent libcairn0 libcairn-dev && ! command -v cairn'
in_tree 'left=$(dpkg -l "*cairn*" 2>/dev/null | grep "^[irh]" || :); [ -z "$left" ] || { echo "$left"; exit 1; }'
in_tree 'left=$(find / -xdev "(" -name "cairn*" -o -name "libcairn*" -o -name _cairn ")" ! -path "/proc/*" ! -path "/dist/*" ! -path "/x/*" ! -path "/opt/*" ! -path "/tmp/*" ! -path "/root/*"); [ -z "$left" ] || { echo "$left"; exit 1; }'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
