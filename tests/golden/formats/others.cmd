# Files of other profilers are named, with what reads them.
other() {
    printf -- "$1" >"$TMP/other"
    (cd "$TMP" && "$CAIRN" convert other -o - --to=collapsed)
    echo "exit status $?"
}
other 'heap profile:    135:  3076096 [  9999: 330909120] @ heap_v2/524288\n 1: 1 [ 1: 1] @ 0x42d576\n'
other '\n\nheap profile:      3:      408 [     3:      408] @ growthz\n'
other 'heap_v2/524288\n  t*: 28106: 56637512 [0: 0]\n@ 0x5f 0x40\n  t*: 13: 6688 [0: 0]\n'
other 'goroutine profile: total 7\n4 @ 0x430f7e 0x40b2e5\n'
other 'threadcreate profile: total 5\n5 @\n'
other '--- contention:\ncycles/second=3201000000\n'
other '--- mutex:\ncycles/second=3201000000\nsampling period=1\n8 1 @ 0x45d 0x46\n'
other '--- symbol\nbinary=/bin/true\n'
for period in '\0\0\47\20' '\20\47\0\0'; do # 10000 us, of either byte order
    case $period in
    '\0'*) zero='\0\0\0\0' three='\0\0\0\3' ;;
    *) zero='\0\0\0\0' three='\3\0\0\0' ;;
    esac
    other "$zero$three$zero$period$zero" # of 32 bits
done
other '\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\20\47\0\0\0\0\0\0\0\0\0\0\0\0\0\0'
other 'PERFFILE........'
other '# callgrind format\nversion: 1\n'
other 'version: 1\ncreator: callgrind-3.19.0\nevents: Ir\n'
other 'desc: --time-unit=B\ncmd: ls\nsnapshot=0\n'
other 'v 10400 3\nX 2 ls\n'
other '{"$schema":"https://www.speedscope.app/file-format-schema.json"}'
other '{"traceEvents":[]}'
other '{"meta":{"preprocessedProfileVersion":47}}'
other '{"nodes":[{"id":1,"callFrame":{}}],"timeDeltas":[]}'
other '{"some":"thing"}'
other '*** *** *** *** *** *** ***\nBuild fingerprint: x\n'
other '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\4\0\76\0'
other '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\76\0'
other '\50\265\57\375....'
other '\3757zXZ\0\0\4'
other 'BZh91AY'
other '\4\42\115\30..'
other 'memray\0\12\0\0\0'
other '<svg width="1">\n'
other 'gmon\1\0\0\0'
echo "== what only looks alike"
"$CAIRN" convert --to=collapsed -o - - <<'END'
{main};f 1
[unknown];g 2
v 10400 3
heap profile;f 4
memray;main 5
growth;profile: x 6
END
echo "== comments"
"$CAIRN" convert --to=collapsed -o - - <<'END'
# austin_version: 3.4.1
# interval: 100

main;f 1
#
#no count
# duration: 4242
# main;g 2
#<Class:X>;h 3
END
