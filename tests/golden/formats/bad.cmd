# Each fault is named with its place.
bad() {
    printf "$1" | "$CAIRN" convert - -o - --to=collapsed
    echo "exit status $?"
}
bad ''
bad 'main;f 1\nmain;g\n'
bad 'main;f 1\nmain;g one\n'
bad 'main;f 99999999999999999999\n'
bad '#!/bin/sh\necho 1\n'
bad '\177ELF\002\001\001\000\000'
head -c 60 rich.pb | "$CAIRN" convert - -o - --to=collapsed
echo "exit status $?"
gzip -c rich.pb | head -c 60 | "$CAIRN" convert - -o - --to=collapsed
echo "exit status $?"
