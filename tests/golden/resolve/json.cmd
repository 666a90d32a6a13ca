"$CAIRN" resolve stacks.txt -o "$TMP/out" --maps maps.txt --symbols . --json 2>/dev/null
