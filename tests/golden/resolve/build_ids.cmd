# The build that ran is known: a file of another one is refused.
echo 'C0FFEE00 libtiny.so' >"$TMP/right"
echo 'c0ffee01 /opt/lib/libtiny.so' >"$TMP/wrong"
printf 'c0ffee00 a\nc0ffee libtiny.so\nc0f /opt/lib/libtiny.so\n' >"$TMP/bad"
echo '0x7f0000001390;x 1' >"$TMP/in"
for ids in right wrong bad; do
    "$CAIRN" resolve "$TMP/in" -o - --maps maps.txt --symbols . --build-ids "$TMP/$ids" --no-inlines
done
"$CAIRN" resolve "$TMP/in" -o - --maps maps.txt --symbols . --build-ids "$TMP/wrong" --allow-mismatch
