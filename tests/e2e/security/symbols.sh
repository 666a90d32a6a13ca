#!/bin/bash
# SPDX-License-Identifier: MIT
# Neither the store of symbols nor the folder of fetched files shows root names that another user
# chose, and root leaves nothing in a folder of another user.
set -u

# shellcheck source=tests/e2e/security/lib.sh
. "$SRC/tests/e2e/security/lib.sh"
need gcc strip python3 setpriv

printf 'int main(void) { return 0; }\nint honest(void) { return 1; }\n' >p.c
gcc -g -O0 -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o good p.c ||
    { echo "gcc refused the program"; exit 1; }
id=0123456789abcdef0123456789abcdef01234567
LC_ALL=C sed 's/honest/wicked/g' good >wicked
strip -o stripped good
address=0x$(nm good | awk '$3 == "honest" { print $1 }')
name() { "$CAIRN" symbolize --no-cache -v stripped "$address" >out 2>log; }

# The command may lie where that user cannot go.
cp "$CAIRN" cairn_copy && chmod 755 cairn_copy || exit 1

# The user's own store, in a home that root was given: it is not used, and nothing is put there.
as_eve env XDG_DATA_HOME="$WORK/eve/data" "$WORK/cairn_copy" symbols add wicked >out 2>log || fail "the user's own store" log
XDG_DATA_HOME=$WORK/eve/data name
hasnt out wicked "a store of another user"
has log "belongs to uid $EVE, expected 0" "a store of another user"
find eve >before
XDG_DATA_HOME=$WORK/eve/data "$CAIRN" symbols add good >out 2>log && fail "add to a store of another user: status 0"
mkdir -m 755 eve/empty
chown $EVE:$EVE eve/empty
XDG_DATA_HOME=$WORK/eve/empty "$CAIRN" symbols add good >out 2>log && fail "add in a folder of another user: status 0"
same "root leaves nothing in another's folder" "$(find eve/empty | wc -l)" 1
same "nor in a store" "$(find eve -path eve/empty -prune -o -print)" "$(cat before)"

# In root's own store: a file that the user owns or can write, and a link to one of the user's.
"$CAIRN" symbols add good >out 2>log || fail "root's store" log
kept=$XDG_DATA_HOME/cairn/symbols/.build-id/01/${id:2}
name
has out honest "root's own store"
cp wicked eve/wicked
chown $EVE:$EVE eve/wicked
for way in owned writable link; do
    rm -f "$kept"
    case $way in
    owned) cp wicked "$kept" && chown $EVE:$EVE "$kept" ;;
    writable) cp wicked "$kept" && chmod 666 "$kept" ;;
    link) ln -s "$WORK/eve/wicked" "$kept" ;;
    esac
    name
    hasnt out wicked "$way in the store"
done
"$CAIRN" symbols list >out 2>log || fail list log
has out "0 files" "a link in the store is none"
# A hard link of the user's file would be the user's still: a copy is made.
rm -f "$kept"
"$CAIRN" symbols add --link eve/wicked >out 2>log || fail "--link of a file of the user" log
same "--link of a file of the user" "$(stat -c '%u %h' "$kept")" "0 1"
rm -f "$kept"

# The folder of debuginfod's client.
folder=$XDG_CACHE_HOME/debuginfod_client
mkdir -p "$folder/$id"
fetched() { "$CAIRN" symbolize --no-cache -v --debuginfod=http://127.0.0.1:1 stripped "$address" >out 2>log; }
fetched
if grep -q "has no HTTP" log; then
    skip "the folder of debuginfod" "this build has no HTTP"
    finish "the store of symbols shows nobody else's names"
fi
cp good "$folder/$id/debuginfo"
chmod 400 "$folder/$id/debuginfo"
fetched
has out honest "root's own folder"
for way in owned link folder; do
    rm -rf "${folder:?}"
    mkdir -p "$folder/$id"
    case $way in
    owned) cp wicked "$folder/$id/debuginfo" && chown $EVE:$EVE "$folder/$id/debuginfo" ;;
    link) ln -s "$WORK/eve/wicked" "$folder/$id/debuginfo" ;;
    folder) cp wicked "$folder/$id/debuginfo" && chmod 777 "$folder" ;;
    esac
    fetched
    hasnt out wicked "$way in the folder of debuginfod"
done

finish "neither the store of symbols nor debuginfod's folder shows another user's names"
