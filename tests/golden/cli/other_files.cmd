# What names no code is named itself, with what to do instead.
other() {
    printf "$1" >"$TMP/other"
    (cd "$TMP" && "$CAIRN" symbolize other 0x10)
    echo "exit status $?"
}
other '!<arch>\na.o/            0           0     0     644     4         `\n'
other '!<thin>\n'
other 'MZ\220\0'
other '\317\372\355\376\7\0\0\1'
other '\0asm\1\0\0\0'
other 'BC\300\336'
other 'MODULE Linux x86_64 0 a.out\n'
other 'MDMP'
other 'PERFILE2'
other '#!/bin/sh\n'
other 'int main(void) { return 0; }\n'
core='\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\76\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
other "$core"'\0\0\0\0\0\0\0\0\0\0\0\0\100\0\70\0\0\0\100\0\0\0\0\0'
echo "== what a core may be packed in"
packed() {
    printf "$1" >"$TMP/core.packed"
    head -c 64 /dev/zero >>"$TMP/core.packed"
    (cd "$TMP" && "$CAIRN" stack core.packed)
    echo "exit status $?"
}
packed '\50\265\57\375'
packed '\37\213\10'
packed '\3757zXZ'
packed '\4\42\115\30'
