"$CAIRN" resolve stacks.txt -o - --maps maps.txt --symbols . --lines --names short 2>/dev/null
