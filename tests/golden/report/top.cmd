# The table, and the same cut to some of its rows.
"$CAIRN" report stacks.collapsed
"$CAIRN" report --sort total --top 3 --color always stacks.collapsed
"$CAIRN" report --function hash --json --top 1 stacks.collapsed
