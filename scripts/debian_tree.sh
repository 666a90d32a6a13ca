#!/bin/sh
# SPDX-License-Identifier: MIT
# debian_tree.sh TREE LOG: makes a Debian 12 tree (minbase) of the folder TREE, which reaches its mirror as this machine
# does. What debootstrap prints goes to LOG. CAIRN_FRESH_MIRROR names another mirror. It needs root.
set -eu

tree=$1
log=$2

# The mirror that this machine installs from.
mirror() {
    # shellcheck disable=SC2016 # apt-get expands them
    found=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
        sed -n 's/^bookworm main //p' | head -n 1)
    echo "${CAIRN_FRESH_MIRROR:-${found:-http://deb.debian.org/debian}}"
}

debootstrap --variant=minbase bookworm "$tree" "$(mirror)" >"$log" 2>&1 || {
    tail -n 15 "$log" >&2
    echo "debian_tree.sh: debootstrap failed; all it printed is in $log" >&2
    exit 1
}
# How to reach the mirror is this machine's business: names and proxies.
for file in resolv.conf hosts; do
    [ ! -f "/etc/$file" ] || cp -L "/etc/$file" "$tree/etc/$file"
done
apt-config dump 2>/dev/null | grep -i '^Acquire::[^ ]*proxy' >"$tree/etc/apt/apt.conf.d/90host" || :
