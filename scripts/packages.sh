#!/bin/sh
# SPDX-License-Identifier: MIT
# packages.sh ARCH SUITE FOLDER PACKAGE...: unpacks packages of Debian's ARCH into FOLDER, those of
# this system's release where SUITE is "-". apt-get works on lists of its own there: nothing is
# installed, no foreign architecture is added to this system, no root is needed. FOLDER/unpacked is
# made last, and says which packages: a folder that has the same ones is left alone.
set -eu

arch=$1
suite=$2
mkdir -p "$3"
root=$(CDPATH='' cd -- "$3" && pwd)
shift 3
[ ! -e "$root/unpacked" ] || [ "$(cat "$root/unpacked")" != "$*" ] || exit 0
command -v apt-get >/dev/null || {
    echo "packages.sh: this system has no apt-get" >&2
    exit 1
}

apt_root=$root/apt
mkdir -p "$apt_root/lists/partial" "$apt_root/cache/archives/partial"
: >"$apt_root/status"
cat >"$apt_root/apt.conf" <<CONF
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
Dir::State "$apt_root";
Dir::State::lists "$apt_root/lists";
Dir::State::status "$apt_root/status";
Dir::Cache "$apt_root/cache";
Acquire::Languages "none";
CONF
if [ "$suite" != - ]; then
    # shellcheck disable=SC2016 # words of apt-get's
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' \
        2>/dev/null | head -n 1) || :
    key=/usr/share/keyrings/debian-archive-keyring.gpg
    echo "deb [signed-by=$key] ${mirror:-http://deb.debian.org/debian} $suite main" >"$apt_root/sources.list"
    cat >>"$apt_root/apt.conf" <<CONF
Dir::Etc::sourcelist "$apt_root/sources.list";
Dir::Etc::sourceparts "-";
CONF
fi
APT_CONFIG=$apt_root/apt.conf
export APT_CONFIG

cd "$apt_root/cache"
# One list that a mirror is just replacing is no failure, as long as the packages can be had.
apt-get -qq -o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=false update \
    >"$apt_root/update.log" 2>&1 || :
apt-get -qq -o APT::Sandbox::User="$(id -un)" download "$@" || {
    cat "$apt_root/update.log" >&2
    exit 1
}
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done
# Links that would lead out of here, into this system.
find "$root" -type l -lname '/*' | while read -r link; do
    ln -sfn "$root$(readlink "$link")" "$link"
done
echo "$*" >"$root/unpacked"
