# What comes out of a pprof file: an inlined call, letters of frames, two values.
"$CAIRN" convert rich.pb -o - --to=collapsed
"$CAIRN" convert rich.pb -o - --to=collapsed --value=cpu
echo "== written and read again"
"$CAIRN" convert rich.pb -o "$TMP/a.pb.gz" && "$CAIRN" convert "$TMP/a.pb.gz" -o - --to=collapsed
"$CAIRN" convert "$TMP/a.pb.gz" -o "$TMP/b.pb.gz" && cmp "$TMP/a.pb.gz" "$TMP/b.pb.gz"
echo "== merged with itself"
"$CAIRN" convert rich.pb "$TMP/a.pb.gz" -o - --to=collapsed
