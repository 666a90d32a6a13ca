/* SPDX-License-Identifier: MIT */
/*
 * Stacks that Rust's standard library prints (RUST_BACKTRACE=1 and full), and those of anyhow.
 *
 *     thread 'worker' (8402) panicked at src/r.rs:2:60:     the thread and its id, if known
 *     index out of bounds: the len is 1 but the index is 7
 *     stack backtrace:                                      begins a stack
 *        0: core::panicking::panic_fmt
 *                  at /rustc/5980/library/core/src/panicking.rs:80:14
 *        1:     0x557508339bf8 - r::leaf::h141ee80ce8e8f48c     full
 *                                    at /src/r.rs:2:60
 *
 * The head of a stack says how long the prefix of a log is, which all its lines have.
 *
 * Source: Rust 1.40 to 1.95, library/std/src/panicking.rs (default_hook),
 * library/std/src/sys/backtrace.rs and backtrace-rs src/print.rs.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"

enum { HASH_SIZE = 19 };                  /* "::h141ee80ce8e8f48c" */
static const uint64_t NO_PC = UINT64_MAX; /* the short form has no addresses */

struct reading {
    struct cairn_thread_text threads;
    size_t prefix; /* bytes before the lines of the stack that is read */
    bool in_stack;
    bool is_waiting; /* a frame, whose place comes next */
    struct cairn_buffer name;
    uint64_t number, pc;
    bool wants_message; /* the next line is what the panic says */
};

static struct cairn_span without_hash(struct cairn_span name)
{
    struct cairn_span hash = cairn_span_from(name, name.size - HASH_SIZE);
    size_t at = 3;
    uint64_t number;
    if (name.size > HASH_SIZE && cairn_span_begins(hash, "::h") &&
        cairn_stack_text_hex(hash, &at, &number) && at == HASH_SIZE)
        name.size -= HASH_SIZE;
    return name;
}

/* "   1:     0x557508339bf8 - r::leaf" or "   1: r::leaf" */
static bool parse_frame(struct cairn_span line, uint64_t *ret_number, uint64_t *ret_pc,
                        struct cairn_span *ret_name)
{
    struct cairn_span text = cairn_stack_text_trimmed(line);
    size_t at = 0;
    uint64_t pc = NO_PC;
    if (!cairn_stack_text_number(text, &at, ret_number) ||
        !cairn_span_begins(cairn_span_from(text, at), ": "))
        return false;
    text = cairn_stack_text_trimmed(cairn_span_from(text, at + 2));
    at = 2;
    if (cairn_span_begins(text, "0x") && cairn_stack_text_hex(text, &at, &pc) &&
        cairn_span_begins(cairn_span_from(text, at), " - "))
        text = cairn_stack_text_trimmed(cairn_span_from(text, at + 3));
    *ret_pc = pc;
    *ret_name = without_hash(text);
    return text.size > 0;
}

/* Addresses are return addresses; of the innermost frames, of the handler itself, that is no
 * matter. */
static int flush(struct reading *r, struct cairn_span file, uint32_t line, struct cairn_err *err)
{
    struct cairn_text_frame frame = {.file = file, .line = line};
    struct cairn_span name = cairn_buffer_span(&r->name);
    if (!r->is_waiting)
        return CAIRN_OK;
    r->is_waiting = false;
    if (r->name.failed)
        return cairn_fail_memory(err);
    if (r->pc != NO_PC && cairn_span_equal(name, cairn_span_of("<unknown>"))) {
        if (!r->pc)
            return CAIRN_OK; /* the end of the stack, where no caller is */
    } else {
        frame.name = name;
    }
    frame.pc = r->pc && r->pc != NO_PC ? r->pc - 1 : 0;
    return cairn_thread_text_frame(&r->threads, r->number, &frame, err);
}

/* "thread 'worker' (8402) panicked at ": what is behind it. */
static bool parse_panic(struct cairn_span line, struct cairn_span *ret_name, uint64_t *ret_tid,
                        struct cairn_span *ret_where)
{
    static const char mark[] = "thread '", panicked[] = " panicked at ";
    size_t at = cairn_span_find(line, mark), where = cairn_span_find(line, panicked);
    if (at >= where || where == line.size)
        return false;
    struct cairn_span name = cairn_span_from(cairn_span_up_to(line, where), at + sizeof mark - 1),
                      id = name;
    name = cairn_span_up_to(name, cairn_span_find(name, "'"));
    at = name.size + 3; /* "' (" */
    *ret_tid = 0;
    if (cairn_span_ends(id, ")"))
        (void)cairn_stack_text_number(id, &at, ret_tid);
    *ret_name = name;
    *ret_where = cairn_span_from(line, where + 1);
    return true;
}

static int add_panic(struct reading *r, struct cairn_span name, uint64_t tid,
                     struct cairn_span where, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_PROCESS, err);
    r->in_stack = false;
    r->wants_message = cairn_span_ends(where, ":");
    where.size -= r->wants_message;
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_NAME, name, err);
    if (code == CAIRN_OK && tid)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_TID, tid, err);
    return code == CAIRN_OK ? cairn_thread_text_say(t, CAIRN_THREAD_REPORT, where, err) : code;
}

/* "stack backtrace:" of a panic, "Stack backtrace:" of anyhow. */
static bool is_head(struct cairn_span line, size_t *ret_prefix)
{
    static const char head[] = "tack backtrace:";
    size_t prefix = line.size - sizeof head;
    if (!cairn_span_ends(line, head) || line.size < sizeof head ||
        (line.data[prefix] != 's' && line.data[prefix] != 'S'))
        return false;
    *ret_prefix = prefix;
    return true;
}

/* A line of the stack, without the prefix. */
static int add_to_stack(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_span text = cairn_stack_text_trimmed(line), file = {0}, name;
    uint64_t number, pc;
    uint32_t source_line = 0;
    if (cairn_span_begins(text, "at ") &&
        cairn_stack_text_place(cairn_span_from(text, 3), &file, &source_line))
        return flush(r, file, source_line, err);
    int code = flush(r, (struct cairn_span){0}, 0, err);
    if (code < 0)
        return code;
    if (!line.size) {
        r->in_stack = false;
        return cairn_thread_text_end(&r->threads, err);
    }
    if (!parse_frame(line, &number, &pc, &name))
        return CAIRN_OK; /* of the program's other threads */
    if (number != r->threads.next_number) {
        r->threads.n_odd++;
        return CAIRN_OK;
    }
    r->is_waiting = true;
    r->number = number;
    r->pc = pc;
    cairn_buffer_clear(&r->name);
    cairn_buffer_add(&r->name, name.data, name.size);
    return CAIRN_OK;
}

static int begin_stack(struct reading *r, struct cairn_err *err)
{
    r->in_stack = true;
    r->wants_message = false;
    return cairn_thread_text_end(&r->threads, err);
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_span name, where;
    uint64_t tid;
    line = cairn_stack_text_trimmed_end(line);
    if (memchr(line.data, 0, line.size) || is_cut) {
        r->threads.n_odd += r->in_stack;
        return CAIRN_OK;
    }
    bool is_panic = parse_panic(line, &name, &tid, &where), is_begin = is_head(line, &r->prefix);
    if (is_panic || is_begin) {
        int code = flush(r, (struct cairn_span){0}, 0, err);
        if (code < 0)
            return code;
        return is_panic ? add_panic(r, name, tid, where, err) : begin_stack(r, err);
    }
    if (r->in_stack && line.size >= r->prefix)
        return add_to_stack(r, cairn_span_from(line, r->prefix), err);
    if (r->wants_message) {
        r->wants_message = false;
        return cairn_thread_text_say(&r->threads, CAIRN_THREAD_MESSAGE, line, err);
    }
    return CAIRN_OK;
}

static int read_rust(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = flush(&r, (struct cairn_span){0}, 0, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "text of Rust's panics",
                                        "RUST_BACKTRACE=1 has the stacks printed", err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.name);
    return code;
}

/* Lines of other programs end in "stack backtrace:", too, of the kernel's lockdep for one: such a
 * line counts where frame 0 is below. */
static bool sniff(struct cairn_span head)
{
    struct cairn_span line, name, where;
    uint64_t tid, number, pc;
    size_t prefix = 0;
    bool is_below = false; /* the head of a stack */
    while (cairn_stack_text_next(&head, &line)) {
        if (parse_panic(line, &name, &tid, &where) ||
            (is_below && parse_frame(cairn_span_from(line, prefix), &number, &pc, &name) &&
             number == 0))
            return true;
        line = cairn_span_up_to(line, line.size - cairn_span_ends(line, "\r"));
        is_below = is_head(line, &prefix);
    }
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_rust = {
    .format = CAIRN_FORMAT_RUST,
    .name = "rust",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_rust,
};
