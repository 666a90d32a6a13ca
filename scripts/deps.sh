#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages of the groups named: build, demo, test, bench, full, package, fresh, format.
# Nothing is asked of the network or of root where nothing is missing.
set -eu

packages() {
    case $1 in
    build) echo gcc libc6-dev meson ninja-build pkg-config zlib1g-dev libzstd-dev liblzma-dev libiberty-dev \
        libncurses-dev libcurl4-gnutls-dev clang bpftool libbpf-dev libelf-dev ;;
    demo) echo g++ ;;
    # Compilers and linkers build the programs that are looked into; llvm, elfutils and binutils say
    # what is in them; go reads our profiles; chromium opens our pictures; servers run under
    # the tracker.
    test)
        echo g++ clang lld llvm libclang-rt-14-dev clang-format libcmocka-dev binutils elfutils protobuf-compiler \
            dwz python3 mandoc shellcheck zstd xz-utils linux-perf golang-go chromium chromium-driver python3-selenium \
            libunwind8 musl-tools g++-aarch64-linux-gnu g++-arm-linux-gnueabihf sqlite3 openssl jq redis nginx wrk \
            zsh fish libpython3.11-testsuite libc6-dbg openssh-server openssh-client \
            lua5.1 lua5.2 lua5.3 lua5.4 luajit liblua5.1-dev liblua5.2-dev liblua5.3-dev liblua5.4-dev libluajit-5.1-dev
        # i386 and x32 are a part of amd64 alone.
        [ "$(dpkg --print-architecture 2>/dev/null)" != amd64 ] ||
            echo libc6-dev-i386 lib32gcc-12-dev libc6-dev-x32 libx32gcc-12-dev
        ;;
    bench) echo g++ clang lld llvm python3 binutils time linux-perf elfutils gdb libunwind-dev musl-tools golang-go \
        chromium chromium-driver python3-selenium sqlite3 jq redis nginx wrk postgresql ;;
    # make builds the module of contrib/kernel; its headers are unpacked beside the build.
    full) echo make qemu-user qemu-system-arm qemu-system-x86 cppcheck clang-tidy nodejs default-jdk-headless postgresql \
        haproxy neovim texlive-binaries ;;
    package) echo dpkg-dev git xz-utils lintian ;;
    fresh) echo debootstrap git ;;
    format) echo clang-format ;;
    *)
        echo "deps.sh: there is no group $1" >&2
        exit 2
        ;;
    esac
}

is_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

give_up() {
    echo "run: $1" >&2
    echo "hint: install these by hand, then run this again:$missing" >&2
    echo "      CAIRN_DEPS=skip goes on without them" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif sudo -n true 2>/dev/null; then
        sudo -n "$@"
    else
        sudo "$@"
    fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 \
        -o Dpkg::Use-Pty=0 "$@"
}

# shellcheck disable=SC2086 # a list of package names
install_missing() {
    apt install -y --no-install-recommends $missing
}

[ "${CAIRN_DEPS:-}" != skip ] || exit 0
missing=
for group; do
    for package in $(packages "$group"); do
        command -v dpkg-query >/dev/null && is_installed "$package" && continue
        case "$missing " in
        *" $package "*) ;;
        *) missing="$missing $package" ;;
        esac
    done
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null || give_up "this system has no apt-get, so nothing was installed"
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || give_up "packages are missing, and there is no sudo"
    if ! sudo -n true 2>/dev/null && [ ! -t 0 ]; then
        give_up "packages are missing, and sudo wants a password that nobody is here to give"
    fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "run: installing$missing" >&2
# The lists may be missing or old: they are fetched when an installation without that fails.
if ! install_missing >"$log" 2>&1; then
    if ! { apt update && install_missing; } >"$log" 2>&1; then
        tail -n 15 "$log" >&2
        give_up "apt-get could not install what is missing"
    fi
fi
