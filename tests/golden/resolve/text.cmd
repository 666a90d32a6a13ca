# Every kind of frame, and every reason to have no name.
"$CAIRN" resolve stacks.txt -o - --maps maps.txt --symbols .
