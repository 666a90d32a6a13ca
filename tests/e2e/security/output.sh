#!/bin/bash
# SPDX-License-Identifier: MIT
# What another user plants in a folder that all may write (/tmp) does not choose where root writes,
# whatever fs.protected_symlinks says.
set -u

# shellcheck source=tests/e2e/security/lib.sh
. "$SRC/tests/e2e/security/lib.sh"
mkdir -m 1777 shared
printf 'a;b 1\n' >in.txt
echo precious >precious
chmod 600 precious

# write CASE FILE OPTION...: root writes a flame graph there.
write() {
    local name=$1 file=$2
    shift 2
    within 20 "$name" "$CAIRN" flame in.txt "$@" -o "$file"
}
unharmed() { # CASE
    n_checks=$((n_checks + 1))
    [ "$(cat precious)" = precious ] || fail "$1: the file of root was written"
    [ ! -e made ] || fail "$1: a file was made where the link leads"
    [ "$status" != 0 ] || fail "$1: status 0"
}

for force in "" --force; do
    # shellcheck disable=SC2086
    for name in precious made; do
        as_eve ln -sfn "$WORK/$name" shared/out.svg
        write "a link to $name $force" shared/out.svg $force
        unharmed "a link to $name $force"
        has log "a symbolic link in a folder that all users may write belongs to uid $EVE" "$name"
    done
done
# A folder on the way, and a link behind a link.
mkdir inner
as_eve ln -sfn "$WORK/inner" shared/folder
write "a link to a folder" shared/folder/out.svg
has log "belongs to uid $EVE" "a link to a folder"
same "a link to a folder" "$(find inner -type f | wc -l)" 0
ln -s shared/out.svg ours.svg
write "our link to another's" ours.svg --force
unharmed "our link to another's"

# A device and a pipe behind a link, and a pipe itself.
as_eve ln -sfn /dev/null shared/device.svg
write "a link to a device" shared/device.svg
unharmed "a link to a device"
as_eve mkfifo shared/pipe.svg
write "a pipe" shared/pipe.svg
unharmed "a pipe"
has log "a pipe or a device in a folder that all users may write" "a pipe"

# A file that another user owns would stay that user's.
as_eve sh -c 'echo theirs >shared/file.svg && chmod 666 shared/file.svg'
write "a file of another user" shared/file.svg --force
same "a file of another user" "$(cat shared/file.svg)" theirs
has log "a file in a folder that all users may write belongs to uid $EVE" "a file of another user"

# A hard link of root's file there: the name is replaced, the file is not written.
ln precious shared/hard.svg
write "a hard link" shared/hard.svg --force
same "a hard link: status" $status 0
same "a hard link" "$(cat precious)" precious

# What is ours works: a link, a dangling one elsewhere, and what sudo's caller got before.
ln -s "$WORK/inner/one.svg" shared/ours.svg
write "our dangling link in a shared folder" shared/ours.svg
has log "leads to no file" "our dangling link in a shared folder"
: >inner/one.svg
write "our link in a shared folder" shared/ours.svg --force
same "our link in a shared folder: status" $status 0
[ -s inner/one.svg ] || fail "our link in a shared folder: nothing was written" log
ln -s "$WORK/inner/two.svg" ours2.svg
write "our dangling link" ours2.svg
same "our dangling link: status" $status 0
[ -s inner/two.svg ] || fail "our dangling link: nothing was written" log
export SUDO_UID=$EVE SUDO_GID=$EVE
for turn in "" --force; do
    # shellcheck disable=SC2086
    write "as sudo does $turn" shared/sudo.svg $turn
    same "as sudo does $turn: status" $status 0
    same "as sudo does $turn" "$(stat -c %u shared/sudo.svg)" $EVE
done
unset SUDO_UID SUDO_GID
"$CAIRN" flame in.txt --format svg -o /dev/stdout 2>log | cat >out
has out "<svg" "to /dev/stdout, a pipe"
"$CAIRN" flame in.txt --format svg -o >(cat >through) >/dev/null 2>log
sleep 0.3
has through "<svg" "to a substituted process"

# A race: the other user turns a folder of his own into a link to root's, again and again. Root
# writes what it was told to, below the folder that it opened, or fails.
as_eve mkdir eve/dir
as_eve /usr/bin/python3 -c '
import os, sys, time
end = time.time() + 4
while time.time() < end:
    os.rename("eve/dir", "eve/kept")
    os.symlink(sys.argv[1], "eve/dir")
    os.unlink("eve/dir")
    os.rename("eve/kept", "eve/dir")' "$WORK/shared/folder" &
racer=$!
while kill -0 $racer 2>/dev/null; do
    "$CAIRN" flame in.txt --force -o eve/dir/race.svg >/dev/null 2>&1
done
wait $racer
same "a race" "$(find inner -name 'race*' -o -name '.race*' | wc -l)" 0

finish "$n_checks checks: root writes where root said"
