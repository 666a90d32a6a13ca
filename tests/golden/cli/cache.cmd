# The folder of the cache, what is in it, and what deletes it.
"$CAIRN" cache
"$CAIRN" cache --json
(unset XDG_CACHE_HOME HOME; "$CAIRN" cache)
mkdir -p "$TMP/dir/symbols/v1/ab"
cp cache/ab0123456789abcdef.index "$TMP/dir/symbols/v1/ab/"
printf 'not what was written' >"$TMP/dir/symbols/v1/ab/ab23456789abcdef.units"
printf 'no entry' >"$TMP/dir/symbols/v1/ab/notes.txt"
chmod 600 "$TMP"/dir/symbols/v1/ab/*
touch -d '2026-01-02 03:04:05' "$TMP/dir/symbols/v1/ab/ab0123456789abcdef.index"
touch -d '2026-01-01 00:00:00' "$TMP/dir/symbols/v1/ab/ab23456789abcdef.units"
"$CAIRN" cache --dir "$TMP/dir"
"$CAIRN" cache --dir "$TMP/dir" --json
"$CAIRN" cache --dir "$TMP/dir" --max-size 210
"$CAIRN" cache --dir "$TMP/dir"
"$CAIRN" cache --dir "$TMP/dir" --clear --json
ls "$TMP/dir/symbols/v1/ab"
"$CAIRN" cache --dir /dev/null
"$CAIRN" cache --max-size much
"$CAIRN" cache word
"$CAIRN" cache --help
