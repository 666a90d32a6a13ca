# The leaf is a return address too; no inlined frames; linkers' names.
"$CAIRN" resolve stacks.txt -o - --maps maps.txt --symbols . --leaf ret --no-inlines --names mangled 2>/dev/null
