/* SPDX-License-Identifier: MIT */
/*
 * Text of valgrind's tools that report errors: memcheck, helgrind, DRD.
 *
 *     ==4813== Invalid read of size 1                                          begins an error
 *     ==4813==    at 0x1091F5: main (a.c:8)                                    its first stack
 *     ==4813==  Address 0x4a44043 is 3 bytes inside a block of size 10 free'd  the next head
 *     ==4813==    at 0x484417B: free (in /usr/libexec/valgrind/vgpreload_memcheck.so)
 *     ==4813==    by 0x1091A5: ??? (in /bin/a)
 *     ==4813==                                                                 ends the error
 *
 * A stack goes from an "at" to the next line of valgrind that is no "by". Its head is the line
 * before it. Lines without valgrind's prefix are the program's.
 *
 * Source: valgrind 3.19, coregrind/m_debuginfo/debuginfo.c (VG_(describe_IP)),
 * coregrind/m_libcprint.c (the prefix) and memcheck/mc_errors.c (leak records).
 */
#include "base/error.h"
#include "base/log.h"
#include "formats/format.h"
#include "formats/stack_text.h"

enum { LABELS_MAX = 3, TEXT_BYTES_MAX = 512 };

struct kept {
    char text[TEXT_BYTES_MAX];
    size_t size;
};

struct reading {
    struct cairn_stack_text stacks;
    struct kept error; /* first line of the error; empty: none begun */
    struct kept head;  /* of the stack that is read or comes next */
    uint64_t pid;      /* of the last line */
    uint64_t line;     /* from 1 */
    uint64_t n_stacks, n_odd;
    bool is_repeat; /* errors are listed once more, with their counts */
};

static struct cairn_span text_of(const struct kept *kept)
{
    return (struct cairn_span){(const uint8_t *)kept->text, kept->size};
}

static void keep(struct kept *kept, struct cairn_span text)
{
    kept->size = text.size < TEXT_BYTES_MAX ? text.size : TEXT_BYTES_MAX;
    memcpy(kept->text, text.data, kept->size);
}

/* "==4813== " and "==00:00:00:00.883 4813== ", of --time-stamp=yes. */
static bool take_prefix(struct cairn_span *io_line, uint64_t *ret_pid)
{
    struct cairn_span line = *io_line;
    size_t at = 2;
    if (!cairn_span_begins(line, "=="))
        return false;
    while (at < line.size && strchr("0123456789:.", line.data[at]) && line.data[at])
        at++;
    if (at == line.size || line.data[at] != ' ')
        at = 2;
    at += line.data[at] == ' ';
    if (!cairn_stack_text_number(line, &at, ret_pid) || line.size - at < 2 ||
        memcmp(line.data + at, "==", 2) != 0)
        return false;
    at += 2;
    *io_line = (struct cairn_span){line.data + at, line.size - at};
    return !io_line->size || strchr(" \r", io_line->data[0]);
}

/* "(a.c:8)" or "(in /bin/a)" at the end. */
static void take_place(struct cairn_span *io_text, struct cairn_text_frame *frame)
{
    struct cairn_span rest = *io_text, inside;
    if (!cairn_stack_text_group(&rest, &inside))
        return;
    if (cairn_span_begins(inside, "in ")) {
        frame->module = (struct cairn_span){inside.data + 3, inside.size - 3};
        *io_text = rest;
        return;
    }
    size_t at = inside.size;
    uint64_t line;
    while (at && inside.data[at - 1] != ':')
        at--;
    size_t digits = at;
    if (at < 2 || !cairn_stack_text_number(inside, &digits, &line) || digits != inside.size ||
        line > UINT32_MAX)
        return;
    frame->file = (struct cairn_span){inside.data, at - 1};
    frame->line = (uint32_t)line;
    *io_text = rest;
}

/* "   at 0x1091F5: main (a.c:8)", behind the prefix. */
static bool parse_frame(struct cairn_span line, bool *ret_is_first,
                        struct cairn_text_frame *ret_frame)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    struct cairn_text_frame frame = {0};
    size_t at = 5;
    *ret_is_first = cairn_span_begins(text, "at 0x");
    if ((!*ret_is_first && !cairn_span_begins(text, "by 0x")) ||
        !cairn_stack_text_hex(text, &at, &frame.pc) || at == text.size || text.data[at] != ':')
        return false;
    text = cairn_stack_text_trimmed((struct cairn_span){text.data + at + 1, text.size - at - 1});
    take_place(&text, &frame);
    if (!cairn_span_equal(text, cairn_span_of("???")))
        frame.name = text;
    *ret_frame = frame;
    return true;
}

/* The kind of a leak's record, "definitely lost"; else the line itself. */
static struct cairn_span kind_of(struct cairn_span error)
{
    static const char from[] = " blocks are ", to[] = " in loss record ";
    const uint8_t *at = memmem(error.data, error.size, from, sizeof from - 1);
    const uint8_t *end = memmem(error.data, error.size, to, sizeof to - 1);
    if (!at || !end || end < at + sizeof from - 1)
        return error;
    at += sizeof from - 1;
    return (struct cairn_span){at, (size_t)(end - at)};
}

static uint32_t make_labels(struct reading *r)
{
    struct cairn_profile *p = r->stacks.p;
    struct cairn_profile_label labels[LABELS_MAX] = {
        {.key = cairn_profile_text(p, "pid", 3), .number = (int64_t)r->pid}};
    uint32_t n = 1;
    if (labels[0].key == UINT32_MAX ||
        (r->head.size && !cairn_stack_text_label(p, "stack", text_of(&r->head), &labels[n++])) ||
        (r->error.size &&
         !cairn_stack_text_label(p, "report", kind_of(text_of(&r->error)), &labels[n++])))
        return UINT32_MAX;
    return cairn_profile_add_labels(p, labels, n);
}

/* "32 (8 direct, 24 indirect) bytes in 1 blocks are ...": what is lost indirectly has records of
 * its own, so that the sum is that of the summary. */
static int64_t bytes_of(struct cairn_span head)
{
    static const char record[] = " in loss record ";
    if (!memmem(head.data, head.size, record, sizeof record - 1))
        return -1;
    int64_t bytes = cairn_stack_text_before(head, " direct, ");
    return bytes >= 0 ? bytes : cairn_stack_text_before(head, " bytes in ");
}

static int end_stack(struct reading *r, struct cairn_err *err)
{
    if (!cairn_stack_text_is_begun(&r->stacks))
        return CAIRN_OK;
    struct cairn_span head = text_of(&r->head);
    int64_t bytes = bytes_of(head), blocks = cairn_stack_text_before(head, " blocks are ");
    uint32_t labels = make_labels(r);
    r->head.size = 0;
    r->n_stacks++;
    return labels == UINT32_MAX ? cairn_fail_memory(err)
                                : cairn_stack_text_end(&r->stacks, labels, bytes, blocks, err);
}

/* With -s, and with -v, all errors are listed again between two summaries. */
static void watch_repeats(struct reading *r, struct cairn_span text)
{
    static const char mark[] = " errors in context ";
    if (cairn_span_begins(text, "ERROR SUMMARY: "))
        r->is_repeat = false;
    else if (memmem(text.data, text.size, mark, sizeof mark - 1))
        r->is_repeat = true;
}

static void add_head(struct reading *r, struct cairn_span text)
{
    watch_repeats(r, text);
    if (!text.size) {
        r->error.size = r->head.size = 0;
        return;
    }
    if (cairn_span_begins(text, "Locks held: "))
        return;
    if (!r->error.size)
        keep(&r->error, text);
    keep(&r->head, text);
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_text_frame frame;
    uint64_t pid;
    bool is_first;
    int code = CAIRN_OK;
    if (!take_prefix(&line, &pid))
        return CAIRN_OK;
    struct cairn_span text = cairn_stack_text_trimmed(line);
    if (pid != r->pid) {
        code = end_stack(r, err);
        r->is_repeat = false;
        r->error.size = r->head.size = 0;
        r->pid = pid;
    }
    if (code < 0)
        return code;
    if (memchr(text.data, 0, text.size) ||
        (is_cut && text.size && text.data[text.size - 1] != ')')) {
        r->n_odd++;
        return CAIRN_OK;
    }
    bool is_frame = parse_frame(line, &is_first, &frame);
    if (is_frame && is_cut && !frame.module.size &&
        !frame.file.size) { /* "f(int)" of "f(int)::g" */
        r->n_odd++;
        return CAIRN_OK;
    }
    if (!is_frame || is_first)
        code = end_stack(r, err);
    if (!is_frame)
        add_head(r, text);
    return is_frame && !r->is_repeat && code == CAIRN_OK
               ? cairn_stack_text_frame(&r->stacks, &frame, err)
               : code;
}

static int finish(struct reading *r, struct cairn_err *err)
{
    int code = end_stack(r, err);
    if (code == CAIRN_OK && !r->n_stacks) {
        cairn_fail(err, CAIRN_E_FORMAT, "text of valgrind without a stack");
        cairn_hint(err, "of leaks, valgrind --leak-check=full prints the stacks");
        return CAIRN_E_FORMAT;
    }
    if (r->n_odd)
        cairn_log(CAIRN_LOG_WARNING, "the text is damaged: %llu lines cannot be read",
                  (unsigned long long)r->n_odd);
    return code == CAIRN_OK ? cairn_stack_text_finish(&r->stacks, err) : code;
}

static int read_valgrind(struct cairn_source *source, struct cairn_profile *p,
                         struct cairn_err *err)
{
    struct reading r = {.stacks = {.p = p}};
    int code = cairn_stack_text_read(source, &r.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = finish(&r, err);
    cairn_stack_text_done(&r.stacks);
    return code;
}

static bool sniff(struct cairn_span head)
{
    static const char *const starts[] = {"Memcheck, a ", "Helgrind, a ", "DRD, a ",
                                         "Using Valgrind-"};
    struct cairn_span line;
    struct cairn_text_frame frame;
    uint64_t pid;
    bool is_first;
    while (cairn_stack_text_next(&head, &line)) {
        if (!take_prefix(&line, &pid))
            continue;
        if (parse_frame(line, &is_first, &frame))
            return true;
        line = cairn_stack_text_trimmed(line);
        for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
            if (cairn_span_begins(line, starts[i]))
                return true;
    }
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_valgrind = {
    .format = CAIRN_FORMAT_VALGRIND,
    .name = "valgrind",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_valgrind,
};
