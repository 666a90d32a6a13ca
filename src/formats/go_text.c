/* SPDX-License-Identifier: MIT */
/*
 * Stacks that Go's runtime prints: of a panic or fatal error, of SIGQUIT, of
 * /debug/pprof/goroutine?debug=2.
 *
 *     panic: runtime error: invalid memory address
 *     [signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x481280]
 *
 *     goroutine 18 [semacquire, 5 minutes]:                     begins a stack
 *     sync.(*Mutex).Lock(...)                                   inlined into the next one
 *         /usr/lib/go/src/sync/mutex.go:90
 *     main.wait(0x0?)
 *         /src/m.go:5 +0x31
 *     created by main.main in goroutine 1
 *         /src/m.go:6 +0x55
 *                                                               ends it
 * The head of a stack says how long the prefix of a log is, which all its lines have.
 *
 * Source: Go 1.4 to 1.24, src/runtime/traceback.go (traceback2, goroutineheader, printcreatedby)
 * and src/runtime/panic.go (printpanics).
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"

struct reading {
    struct cairn_thread_text threads;
    size_t prefix;             /* bytes before the lines of the stack that is read */
    struct cairn_buffer call;  /* "main.wait(0x0?)": a frame whose place comes next */
    uint64_t n_codes;          /* places of code up to here; inlined calls are at one */
    struct cairn_buffer fatal; /* "panic: ...", of the first goroutine that follows */
    struct cairn_buffer signal;
    bool in_stack;
    bool has_place; /* what is no frame has, in the next line */
};

static void keep(struct cairn_buffer *buffer, struct cairn_span text)
{
    cairn_buffer_clear(buffer);
    cairn_buffer_add(buffer, text.data, text.size);
}

/* "goroutine 18 [semacquire, 5 minutes]:", at `*ret_prefix`. Go 1.23 has more between. */
static bool parse_head(struct cairn_span line, size_t *ret_prefix, uint64_t *ret_id,
                       struct cairn_span *ret_state)
{
    static const char mark[] = "goroutine ";
    size_t prefix = cairn_span_find(line, mark), at = prefix + sizeof mark - 1;
    if (prefix == line.size || !cairn_stack_text_number(line, &at, ret_id) || at == line.size ||
        line.data[at] != ' ' || !cairn_span_ends(line, "]:"))
        return false;
    struct cairn_span state = cairn_span_from(line, at);
    size_t bracket = cairn_span_find(state, "[");
    if (bracket == state.size)
        return false;
    state = cairn_span_from(state, bracket + 1);
    state.size -= 2;
    *ret_state = cairn_span_up_to(state, cairn_span_find(state, ", "));
    *ret_prefix = prefix;
    return true;
}

static int say_fatal(struct reading *r, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = CAIRN_OK;
    if (r->fatal.size)
        code = cairn_thread_text_say(t, CAIRN_THREAD_REPORT, cairn_buffer_span(&r->fatal), err);
    if (code == CAIRN_OK && r->signal.size)
        code = cairn_thread_text_say(t, CAIRN_THREAD_MESSAGE, cairn_buffer_span(&r->signal), err);
    if (code == CAIRN_OK && r->fatal.size)
        code = cairn_thread_text_say(t, CAIRN_THREAD_STACK, cairn_span_of("crashed"), err);
    cairn_buffer_clear(&r->fatal);
    cairn_buffer_clear(&r->signal);
    return code;
}

static int begin_stack(struct reading *r, uint64_t id, struct cairn_span state,
                       struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_PROCESS, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_GOROUTINE, id, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_STATE, state, err);
    cairn_buffer_clear(&r->call);
    r->in_stack = true;
    return code == CAIRN_OK ? say_fatal(r, err) : code;
}

/* "\t/src/m.go:5 +0x31 fp=0xc00006aec0", below the call that it is the place of. */
static int add_place(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_text_frame frame = {0};
    struct cairn_span call = cairn_buffer_span(&r->call), file;
    size_t arguments = call.size;
    line = cairn_span_up_to(line, cairn_span_find(line, " +0x"));
    if (!call.size) {
        r->threads.n_missing += !r->has_place; /* a line of something else is where it was */
        r->has_place = false;
        return CAIRN_OK;
    }
    if (!cairn_stack_text_place(line, &file, &frame.line)) {
        r->threads.n_odd++;
        return CAIRN_OK;
    }
    while (arguments && call.data[arguments - 1] != '(')
        arguments--;
    frame.name = cairn_span_up_to(call, arguments - 1);
    frame.file = file;
    frame.pc = r->n_codes + 1;
    r->n_codes += !cairn_span_ends(call, "(...)");
    int code = cairn_thread_text_next(&r->threads, &frame, err);
    cairn_buffer_clear(&r->call);
    return code;
}

static int end_stack(struct reading *r, struct cairn_err *err)
{
    r->in_stack = false;
    r->n_codes++;
    cairn_buffer_clear(&r->call);
    return cairn_thread_text_end(&r->threads, err);
}

/* A line of the stack, without the prefix. */
static int add_to_stack(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    static const char created[] = "created by ", elided[] = "frames elided...";
    if (!line.size)
        return end_stack(r, err);
    if (line.data[0] == '\t' || cairn_span_begins(line, "    "))
        return add_place(r, line, err);
    cairn_buffer_clear(&r->call);
    r->has_place = cairn_span_begins(line, created);
    if (r->has_place) {
        line = cairn_span_from(line, sizeof created - 1);
        line = cairn_span_up_to(line, cairn_span_find(line, " in goroutine "));
        return cairn_thread_text_note(&r->threads, CAIRN_THREAD_CREATED_BY, line, err);
    }
    if (cairn_span_ends(line, elided))
        return cairn_thread_text_note(&r->threads, CAIRN_THREAD_CUT, cairn_span_of("too deep"),
                                      err);
    if (cairn_span_ends(line, ")") && cairn_span_find(line, "(") > 0)
        keep(&r->call, line);
    return CAIRN_OK;
}

static void watch_fatal(struct reading *r, struct cairn_span line)
{
    static const char *const marks[] = {"panic: ", "fatal error: "};
    size_t at = cairn_span_find(line, "[signal ");
    if (at < line.size) {
        line = cairn_span_from(line, at + 1);
        line.size -= cairn_span_ends(line, "]");
        keep(&r->signal, line);
    }
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        at = cairn_span_find(line, marks[i]);
        if (at < line.size && !r->fatal.size)
            keep(&r->fatal, cairn_span_from(line, at));
    }
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_span state;
    uint64_t id;
    line = cairn_stack_text_trimmed_end(line);
    if (memchr(line.data, 0, line.size) || is_cut) {
        r->threads.n_odd += r->in_stack;
        cairn_buffer_clear(&r->call);
        return CAIRN_OK;
    }
    int code = CAIRN_OK;
    if (parse_head(line, &r->prefix, &id, &state))
        code = begin_stack(r, id, state, err);
    else if (r->in_stack && line.size + 1 >= r->prefix) /* blanks were cut at the end */
        code = add_to_stack(r, cairn_span_from(line, r->prefix), err);
    else if (!r->in_stack)
        watch_fatal(r, line);
    if (r->call.failed || r->fatal.failed || r->signal.failed)
        return cairn_fail_memory(err);
    return code;
}

static int read_go(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "text of Go's runtime",
                                        "GOTRACEBACK=all has the stacks of all goroutines printed",
                                        err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.call);
    cairn_buffer_done(&r.fatal);
    cairn_buffer_done(&r.signal);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line, state;
    size_t prefix;
    uint64_t id;
    while (cairn_stack_text_next(&head, &line))
        if (parse_head(cairn_stack_text_trimmed(line), &prefix, &id, &state))
            return true;
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_go = {
    .format = CAIRN_FORMAT_GO,
    .name = "go",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_go,
};
