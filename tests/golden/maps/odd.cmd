# Gaps, overlaps, blanks and \012 in paths, a blank line: the input comes back, and names of files
# are shown without their line breaks.
cat > "$TMP/in" <<'END'
gap;0x55d000009000 1
old;0x55d000001000;new;0x55d000003010 2
memory;0x7f0000000010 3
END
"$CAIRN" resolve "$TMP/in" -o - --maps odd.maps 2> "$TMP/err" || echo "exit status $?"
grep -o -e 'maps: later.*' -e '/no/such.*place[^:]*' "$TMP/err"
