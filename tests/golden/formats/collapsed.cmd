# Blank lines, CR LF, empty frames, a fraction, a negative count, no line break at the end.
"$CAIRN" convert odd.collapsed -o "$TMP/a.collapsed" && cat "$TMP/a.collapsed"
echo "== through pprof and back"
"$CAIRN" convert "$TMP/a.collapsed" -o "$TMP/a.pb.gz"
"$CAIRN" convert "$TMP/a.pb.gz" -o - --to=collapsed | diff "$TMP/a.collapsed" -
echo "== through gzip"
gzip -c odd.collapsed | "$CAIRN" convert - -o - --to=collapsed | diff "$TMP/a.collapsed" -
