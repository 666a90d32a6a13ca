# What changed, by share and as it is, as text and as JSON; and what is refused.
"$CAIRN" diff old.collapsed new.collapsed
"$CAIRN" diff old.collapsed new.collapsed --absolute --sort total --top 2 --by function --color always
"$CAIRN" diff old.collapsed new.collapsed --top 1 --json
"$CAIRN" diff old.collapsed old.collapsed
"$CAIRN" diff old.collapsed
"$CAIRN" diff old.collapsed new.collapsed --by name
