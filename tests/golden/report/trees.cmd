# Trees of calls, of callers and of callees, as text.
"$CAIRN" report --tree stacks.collapsed
"$CAIRN" report --tree --min-percent 0 --depth 3 --top 1 stacks.collapsed
"$CAIRN" report --callers --top 4 stacks.collapsed
"$CAIRN" report --callers=hash stacks.collapsed
"$CAIRN" report --callees=format stacks.collapsed
"$CAIRN" report --callees --sort total --top 2 --min-percent 20 stacks.collapsed
"$CAIRN" report --callers=write --json stacks.collapsed
"$CAIRN" report --callers=nothing stacks.collapsed
"$CAIRN" report --tree --callers stacks.collapsed
"$CAIRN" report --callees= stacks.collapsed
"$CAIRN" report --depth 3 stacks.collapsed
"$CAIRN" report --tree --sort total stacks.collapsed
"$CAIRN" report --tree --min-percent -1 stacks.collapsed
