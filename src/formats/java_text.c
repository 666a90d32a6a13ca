/* SPDX-License-Identifier: MIT */
/*
 * Thread dumps of Java: by jstack and SIGQUIT, and Android's of ANRs (/data/anr), where native and
 * Java frames of a thread are one list.
 *
 *     "worker" #9 daemon prio=5 os_prio=0 tid=0x7fcb nid=0x7e6a waiting on condition  [0x7fca]
 *        java.lang.Thread.State: TIMED_WAITING (sleeping)
 *             at java.lang.Thread.sleep(java.base@17.0.15/Native Method)
 *             - locked <0x0000000687484f18> (a java.lang.Object)
 *             at D.wait(D.java:4)
 *                                                            ends the stack
 *     ----- pid 4813 at 2023-05-06 07:08:09 -----            Android
 *     Cmd line: org.acme.paint
 *     Build type: optimized                                  kilobytes of statistics follow
 *     "main" prio=5 tid=1 Blocked
 *       | sysTid=4813 nice=-10 cgrp=top-app
 *       native: #00 pc 000000000053a6e0  /apex/lib64/libart.so (art::Wait()+128) (BuildId: ab01)
 *       at org.acme.Main.run(Main.java:12)
 *
 * The head of a thread says how long the prefix of a log is, which all its lines have.
 *
 * Source: OpenJDK 8 to 21, src/hotspot/share/runtime/thread.cpp (print_on) and
 * vframe.cpp; AOSP, art/runtime/thread.cc (DumpState, DumpStack), Android 5 to 15.
 */
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"
#include "formats/tombstone_line.h"

struct reading {
    struct cairn_thread_text threads;
    size_t prefix; /* bytes before the lines of the thread that is read */
    bool in_thread;
    bool has_native;          /* frames, of Android */
    struct cairn_buffer path; /* of the frame's module, where it is in an archive */
};

struct head {
    struct cairn_span name, state;
    size_t prefix;
    uint64_t tid; /* of the system; 0: not said here */
};

/* The number behind `mark`, in hex where it begins so. */
static uint64_t number_behind(struct cairn_span text, const char *mark)
{
    size_t at = cairn_span_find(text, mark) + strlen(mark), hex = at + 2;
    uint64_t number;
    if (cairn_span_begins(cairn_span_from(text, at), "0x"))
        return cairn_stack_text_hex(text, &hex, &number) ? number : 0;
    return at < text.size && cairn_stack_text_number(text, &at, &number) ? number : 0;
}

/* What is behind the number of "nid=0x7e6a waiting on condition  [0x7fca]" or "tid=1 Blocked"; up
 * to Java 8 there is one blank before the bracket. */
static struct cairn_span state_behind(struct cairn_span text, const char *mark)
{
    struct cairn_span rest = cairn_span_from(text, cairn_span_find(text, mark) + strlen(mark));
    rest = cairn_span_from(rest, cairn_span_find(rest, " "));
    return cairn_stack_text_trimmed(cairn_span_up_to(rest, cairn_span_find(rest, " [0x")));
}

/* The first line of a thread. Its name may hold quotes. */
static bool parse_head(struct cairn_span line, struct head *ret_head)
{
    size_t first = cairn_span_find(line, "\""), last = line.size;
    while (last && line.data[last - 1] != '"')
        last--;
    struct cairn_span rest = cairn_span_from(line, last);
    if (last < first + 2 || !cairn_span_begins(rest, " ") ||
        cairn_span_find(rest, "prio=") == rest.size)
        return false;
    bool is_native = cairn_span_find(rest, " nid=") < rest.size;
    *ret_head = (struct head){
        .name = cairn_span_up_to(cairn_span_from(line, first + 1), last - first - 2),
        .state = state_behind(rest, is_native ? " nid=" : " tid="),
        .prefix = first,
        .tid = is_native ? number_behind(rest, " nid=") : 0,
    };
    return true;
}

/* "at D.wait(java.base@17/D.java:4)" */
static bool parse_frame(struct cairn_span text, struct cairn_text_frame *ret_frame)
{
    struct cairn_text_frame frame = {0};
    size_t at = text.size;
    if (!cairn_span_begins(text, "at ") || !cairn_span_ends(text, ")"))
        return false;
    while (at && text.data[at - 1] != '(')
        at--;
    if (at < 5)
        return false;
    struct cairn_span place = cairn_span_up_to(cairn_span_from(text, at), text.size - at - 1);
    frame.name = cairn_span_from(cairn_span_up_to(text, at - 1), 3);
    if (!cairn_stack_text_place(place, &frame.file, &frame.line) && cairn_span_ends(place, ".java"))
        frame.file = place;
    for (size_t slash = frame.file.size; slash-- > 0;)
        if (frame.file.data[slash] == '/') {
            frame.file = cairn_span_from(frame.file, slash + 1);
            break;
        }
    *ret_frame = frame;
    return true;
}

static int begin_thread(struct reading *r, const struct head *head, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_NAME, err);
    r->in_thread = true;
    r->prefix = head->prefix;
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_NAME, head->name, err);
    if (code == CAIRN_OK && head->tid)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_TID, head->tid, err);
    return code == CAIRN_OK ? cairn_thread_text_say(t, CAIRN_THREAD_STATE, head->state, err) : code;
}

/* A frame of native code: those of one thread come before its Java frames. */
static int add_native(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_tombstone_line parsed;
    cairn_tombstone_line_parse(line, &parsed);
    if (parsed.kind != CAIRN_TOMBSTONE_FRAME)
        return CAIRN_OK;
    r->has_native = true;
    (void)cairn_tombstone_name_entry(&r->path, &parsed.frame);
    if (r->path.failed)
        return cairn_fail_memory(err);
    return cairn_thread_text_frame(&r->threads, parsed.number, &parsed.frame, err);
}

/* A line of the thread, without the prefix and blanks. */
static int add_to_thread(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    static const char state[] = "java.lang.Thread.State: ";
    struct cairn_text_frame frame;
    if (!text.size) {
        r->in_thread = false;
        return cairn_thread_text_end(&r->threads, err);
    }
    if (parse_frame(text, &frame))
        return cairn_thread_text_next(&r->threads, &frame, err);
    if (cairn_span_begins(text, "native: #") || cairn_span_begins(text, "#"))
        return add_native(r, text, err);
    if (cairn_span_begins(text, state)) {
        text = cairn_span_from(text, sizeof state - 1);
        text = cairn_span_up_to(text, cairn_span_find(text, " "));
        return cairn_thread_text_say(&r->threads, CAIRN_THREAD_STATE, text, err);
    }
    uint64_t tid = cairn_span_begins(text, "| sysTid=") ? number_behind(text, "| sysTid=") : 0;
    return tid ? cairn_thread_text_say_number(&r->threads, CAIRN_THREAD_TID, tid, err) : CAIRN_OK;
}

/* "----- pid 4813 at ...", "Cmd line: ..." and threads without Java frames, of Android. */
static int add_process(struct reading *r, struct cairn_span line, struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    struct cairn_tombstone_line parsed;
    cairn_tombstone_line_parse(line, &parsed);
    if (parsed.kind == CAIRN_TOMBSTONE_COMMAND)
        return cairn_thread_text_say(t, CAIRN_THREAD_PROCESS, parsed.text, err);
    if (parsed.kind == CAIRN_TOMBSTONE_THREAD) {
        const struct head head = {
            .name = parsed.text, .prefix = cairn_span_find(line, "\""), .tid = parsed.tid};
        return begin_thread(r, &head, err);
    }
    if (parsed.kind != CAIRN_TOMBSTONE_PROCESS)
        return CAIRN_OK;
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_PROCESS, err);
    return code == CAIRN_OK ? cairn_thread_text_say_number(t, CAIRN_THREAD_PID, parsed.pid, err)
                            : code;
}

static int add_line(void *ctx, struct cairn_span line, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct head head;
    if (memchr(line.data, 0, line.size) || (is_cut && !cairn_span_ends(line, ")"))) {
        r->threads.n_odd += r->in_thread;
        return CAIRN_OK;
    }
    if (parse_head(line, &head))
        return begin_thread(r, &head, err);
    if (!r->in_thread)
        return add_process(r, line, err);
    return add_to_thread(r, cairn_stack_text_trimmed(cairn_span_from(line, r->prefix)), err);
}

static int read_java(struct cairn_source *source, struct cairn_profile *p, struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    /* Native frames without a build ID are not those of this machine's files. */
    if (code == CAIRN_OK && r.has_native &&
        cairn_profile_add_note(p, CAIRN_NOTE_HOST, "Android") < 0)
        code = cairn_fail_memory(err);
    if (code == CAIRN_OK)
        code =
            cairn_thread_text_finish(&r.threads, "a thread dump",
                                     "jstack PID prints one with the stacks of all threads", err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.path);
    return code;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span line;
    struct head parsed;
    bool has_pid = false; /* of Android's runtime: its threads may come behind the first bytes */
    while (cairn_stack_text_next(&head, &line)) {
        has_pid |= cairn_span_begins(line, "----- pid ");
        if (parse_head(line, &parsed) || cairn_span_begins(line, "Full thread dump ") ||
            (has_pid && cairn_span_begins(line, "Build type: ")))
            return true;
    }
    return false;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_java = {
    .format = CAIRN_FORMAT_JAVA,
    .name = "java",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_java,
};
