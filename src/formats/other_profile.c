/* SPDX-License-Identifier: MIT */
/*
 * A file is known by how it begins, and where that is not enough by a word near its begin.
 * Collapsed stacks begin with any text, so a text counts as another's where it cannot be a stack.
 */
#include "formats/other_profile.h"

#include <string.h>

#include "base/zip.h"

#define GO_CONVERTS  "go tool pprof -proto -output=x.pb.gz PROGRAM FILE makes one that cairn reads"
#define BINARY(text) (text), sizeof(text) - 1

enum { HEAD_MAX = 64 << 10 };

/* `begin` and, if there is one, `word` must be there. */
struct row {
    const char *begin;
    size_t size;
    const char *word;
    struct cairn_other_profile other;
};

/* Blank lines before the text are skipped. */
static const struct row texts[] = {
    {BINARY("heap profile:"),
     NULL,
     {"a heap profile of gperftools or jemalloc, as text", GO_CONVERTS}},
    {BINARY("heap_v2/"),
     NULL,
     {"a heap profile of jemalloc",
      "jeprof --collapsed PROGRAM FILE makes stacks that cairn reads"}},
    {BINARY("goroutine profile:"),
     NULL,
     {"a goroutine profile of Go, as text",
      "fetch it with ?debug=0: pprof's own format, which cairn "
      "reads"}},
    {BINARY("threadcreate profile:"),
     NULL,
     {"a threadcreate profile of Go, as text", "fetch it with ?debug=0: pprof's own format, which "
                                               "cairn reads"}},
    {BINARY("--- symbol"),
     NULL,
     {"a profile of gperftools with symbols (pprof --raw)", GO_CONVERTS}},
    {BINARY("--- "),
     NULL,
     {"a text profile of Go or gperftools (contention, mutex, threads)", GO_CONVERTS}},
    {BINARY("MAPPED_LIBRARIES:"), NULL, {"the end of a text profile of gperftools", GO_CONVERTS}},
    {BINARY("# callgrind format"),
     NULL,
     {"a callgrind profile", "callgrind_annotate FILE reads it"}},
    {BINARY("version: "), "events:", {"a callgrind profile", "callgrind_annotate FILE reads it"}},
    {BINARY("events: "), "fn=", {"a callgrind profile", "callgrind_annotate FILE reads it"}},
    {BINARY("desc: "), "snapshot=", {"a massif profile", "ms_print FILE reads it"}},
    {BINARY("desc: "), "events:", {"a cachegrind profile", "cg_annotate FILE reads it"}},
    {BINARY("v "),
     "\nX ",
     {"a recording of heaptrack",
      "heaptrack_print -f FILE -F x.txt makes stacks that cairn reads"}},
    {BINARY("{"),
     "speedscope.app",
     {"a speedscope profile", "https://www.speedscope.app reads it"}},
    {BINARY("{"), "dhatFileVersion", {"a DHAT profile", "valgrind's dh_view.html reads it"}},
    {BINARY("{"), "\"traceEvents\"", {"a Chrome trace", "https://ui.perfetto.dev reads it"}},
    {BINARY("{"),
     "\"preprocessedProfileVersion\"",
     {"a profile of Firefox", "https://profiler.firefox.com reads it"}},
    {BINARY("{"), "\"node_fields\"", {"a heap snapshot of V8", "Chrome's DevTools read it"}},
    {BINARY("{"), "\"callFrame\"", {"a CPU profile of V8", "Chrome's DevTools read it"}},
    {BINARY("{\""), NULL, {"JSON", NULL}},
    {BINARY("[{"), "\"ph\"", {"a Chrome trace", "https://ui.perfetto.dev reads it"}},
    {BINARY("<svg"), NULL, {"a picture", "name the profile that it was made of"}},
    {BINARY("<?xml"), NULL, {"an XML file or a picture", "name the profile that it was made of"}},
    {BINARY("<!DOCTYPE"), NULL, {"a page", "name the profile that it was made of"}},
    {BINARY("<html"), NULL, {"a page", "name the profile that it was made of"}},
};

static const struct row binaries[] = {
    {BINARY("PERFFILE"),
     NULL,
     {"a recording of a perf of 2010 or before, whose files are of another form",
      "perf script -i FILE makes text that cairn reads"}},
    {BINARY("SIMPLEPERF"),
     NULL,
     {"a report of simpleperf", "simpleperf's report_html.py reads it"}},
    {BINARY("gmon\1\0\0\0"), NULL, {"a profile of gprof", "gprof PROGRAM FILE reads it"}},
    {BINARY("\x17\x08\x44tracing"),
     NULL,
     {"a trace of trace-cmd", "trace-cmd report FILE reads it"}},
    {BINARY("\xc1\x1f\xfc\xc1"), NULL, {"a CTF trace", "babeltrace2 FOLDER reads it"}},
    {BINARY("\x5e\x97\xca\xfd"), NULL, {"a capture of sysprof", "sysprof FILE shows it"}},
    {BINARY("FLR\0"), NULL, {"a recording of Java's flight recorder", "jfr print FILE reads it"}},
    {BINARY("JAVA PROFILE "), NULL, {"a heap dump of Java", "Eclipse MAT reads it"}},
    {BINARY("\x81rforpl\xff"), NULL, {"a coverage profile of LLVM", "llvm-profdata reads it"}},
    {BINARY("\xfflprofr\x81"), NULL, {"a coverage profile of LLVM", "llvm-profdata reads it"}},
    {BINARY("memray\0"), NULL, {"a recording of memray", "memray stats FILE reads it"}},
    {BINARY("Nettrace"), NULL, {"a trace of .NET", "dotnet-trace convert reads it"}},
    {BINARY("SQLite format 3"), NULL, {"a SQLite database", NULL}},
    {BINARY("PK\3\4"), NULL, {"a zip archive", "unzip it first"}},
    {BINARY("MDMP"), NULL, {"a minidump", "minidump-stackwalk FILE reads it"}},
};

/* By the program that unpacks them. What gzip packed is read. */
static const struct {
    const char *program;
    struct cairn_other_profile other;
} packed[] = {
    {"zstd", {"compressed by zstd", "zstd -dc FILE | cairn ... -"}},
    {"xz", {"compressed by xz", "xz -dc FILE | cairn ... -"}},
    {"bzip2", {"compressed by bzip2", "bzip2 -dc FILE | cairn ... -"}},
    {"lz4", {"compressed by lz4", "lz4 -dc FILE | cairn ... -"}},
};

static const struct cairn_other_profile cpu_profile = {"a CPU profile of gperftools", GO_CONVERTS},
                                        core_file = {"a core file",
                                                     "cairn stack FILE shows its stacks"},
                                        elf_file = {"an ELF file",
                                                    "cairn symbolize FILE ADDR names its code"};

static bool is_row(const struct row *row, struct cairn_span head)
{
    return head.size >= row->size && memcmp(head.data, row->begin, row->size) == 0 &&
           (!row->word || memmem(head.data, head.size, row->word, strlen(row->word)));
}

static const struct cairn_other_profile *find_row(const struct row *rows, size_t n,
                                                  struct cairn_span head)
{
    for (size_t i = 0; i < n; i++)
        if (is_row(&rows[i], head))
            return &rows[i].other;
    return NULL;
}

static const struct cairn_other_profile *packed_of(struct cairn_span head)
{
    const char *program = cairn_zip_program(head);
    for (size_t i = 0; program && i < sizeof packed / sizeof *packed; i++)
        if (strcmp(packed[i].program, program) == 0)
            return &packed[i].other;
    return NULL;
}

/* gperftools, doc/cpuprofile-fileformat.html: words of 4 or 8 bytes in the order of the machine,
 * the header 0, 3, 0, period in us, 0. */
static bool is_cpu_profile(struct cairn_span head, unsigned width, bool swap)
{
    static const uint64_t header[] = {0, 3, 0};
    struct cairn_reader r = cairn_reader_of(head, swap);
    for (size_t i = 0; i < sizeof header / sizeof *header; i++)
        if (cairn_reader_word(&r, width) != header[i])
            return false;
    uint64_t period_us = cairn_reader_word(&r, width), padding = cairn_reader_word(&r, width);
    return !r.failed && period_us && period_us < 100 * 1000 * 1000 && !padding;
}

static const struct cairn_other_profile *elf_of(struct cairn_span head)
{
    enum { TYPE = 16, ORDER = 5, BIG_ENDIAN_ELF = 2, CORE = 4 };
    if (head.size < TYPE + 2 || memcmp(head.data,
                                       "\x7f"
                                       "ELF",
                                       4) != 0)
        return NULL;
    bool big = head.data[ORDER] == BIG_ENDIAN_ELF;
    return head.data[TYPE + big] == CORE ? &core_file : &elf_file;
}

const struct cairn_other_profile *cairn_other_profile_of(struct cairn_span head)
{
    head.size = head.size < HEAD_MAX ? head.size : HEAD_MAX; /* it may be a whole file, unpacked */
    for (int i = 0; i < 4; i++)
        if (is_cpu_profile(head, i & 1 ? 4 : 8, i & 2))
            return &cpu_profile;
    const struct cairn_other_profile *other = elf_of(head);
    if (!other)
        other = packed_of(head);
    if (!other)
        other = find_row(binaries, sizeof binaries / sizeof *binaries, head);
    while (head.size && strchr(" \t\r\n", head.data[0]) && head.data[0]) {
        head.data++;
        head.size--;
    }
    return other ? other : find_row(texts, sizeof texts / sizeof *texts, head);
}
