/* SPDX-License-Identifier: MIT */
/*
 * Tombstones of Android, as text, and what debuggerd -b prints: in files of their own or among the
 * lines of a log. Each thread's stack is a sample; registers, memory and mappings pass over.
 *
 * What the pc of a frame counts from depends on the version. From Android 11 on it is an address as
 * the ELF file gives it. Android 9 and 10 print the offset in the file. Up to Android 8 it is an
 * offset into the mapping of the code, and "(offset 0x...)" says where in the file that begins. In
 * an APK it is always the library that begins there.
 *
 * Source: as tombstone_line.h; android/ndk issue 1366 about the three meanings of pc.
 */
#include "base/buffer.h"
#include "base/error.h"
#include "formats/format.h"
#include "formats/thread_text.h"
#include "formats/tombstone_line.h"

enum { FIRST_WITH_FILE_OFFSETS = 9, FIRST_WITH_ADDRESSES = 11 };

struct reading {
    struct cairn_thread_text threads;
    uint64_t version; /* of Android; 0: not said, or a name */
    bool is_crashed;  /* the thread whose stack comes */
    bool in_log;      /* its lines may quote an older dump */
    bool has_build;
    struct cairn_buffer path; /* of the frame's module, where it is in an archive */
};

/* "google/oriole/oriole:13/TQ1A...": a name stands for the version of one that is not released. */
static uint64_t version_of(struct cairn_span build)
{
    size_t at = cairn_span_find(build, ":") + 1;
    uint64_t version;
    return at < build.size && cairn_stack_text_number(build, &at, &version) ? version : 0;
}

/* The note keeps names of this machine's files from frames that have no build ID. */
static int add_build(struct reading *r, struct cairn_span build, struct cairn_err *err)
{
    char text[256] = "";
    bool is_first = !r->has_build;
    build = cairn_span_up_to(build, sizeof text - 1);
    memcpy(text, build.data, build.size);
    r->has_build = true;
    r->version = version_of(build);
    return is_first && cairn_profile_add_note(r->threads.stacks.p, CAIRN_NOTE_HOST, text) < 0
               ? cairn_fail_memory(err)
               : CAIRN_OK;
}

static bool is_in_archive(struct cairn_span path)
{
    return cairn_span_find(path, ".apk") < path.size;
}

static void count_from_file(struct reading *r, struct cairn_tombstone_line *line)
{
    struct cairn_text_frame *frame = &line->frame;
    bool is_of_code = r->version && r->version < FIRST_WITH_FILE_OFFSETS;
    bool is_known = cairn_tombstone_name_entry(&r->path, frame) || frame->build_id.size;
    if (!frame->has_offset)
        return;
    frame->in_file = r->version && r->version < FIRST_WITH_ADDRESSES;
    if (is_in_archive(frame->module))
        frame->begins = is_known ? 0 : line->place;
    else if (is_of_code)
        frame->begins = line->place;
}

static int add_frame(struct reading *r, struct cairn_tombstone_line *line, bool is_cut,
                     struct cairn_err *err)
{
    if (is_cut && !line->is_closed) {
        r->threads.n_odd++;
        return CAIRN_OK;
    }
    count_from_file(r, line);
    if (r->path.failed)
        return cairn_fail_memory(err);
    return cairn_thread_text_frame(&r->threads, line->number, &line->frame, err);
}

static int begin(struct reading *r, struct cairn_err *err)
{
    r->is_crashed = r->in_log = false;
    return cairn_thread_text_forget(&r->threads, CAIRN_THREAD_PROCESS, err);
}

static int add_head(struct reading *r, const struct cairn_tombstone_line *line,
                    struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    r->is_crashed = false;
    int code = cairn_thread_text_forget(t, CAIRN_THREAD_PROCESS, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_PROCESS, line->process, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(t, CAIRN_THREAD_NAME, line->text, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say_number(t, CAIRN_THREAD_PID, line->pid, err);
    return code == CAIRN_OK ? cairn_thread_text_say_number(t, CAIRN_THREAD_TID, line->tid, err)
                            : code;
}

/* Only the thread that crashed got a signal. */
static int add_signal(struct reading *r, struct cairn_span text, struct cairn_err *err)
{
    int code = cairn_thread_text_say(&r->threads, CAIRN_THREAD_REPORT, text, err);
    r->is_crashed = true;
    return code == CAIRN_OK ? cairn_thread_text_say(&r->threads, CAIRN_THREAD_STACK,
                                                    cairn_span_of("crashed"), err)
                            : code;
}

static int add_thread(struct reading *r, const struct cairn_tombstone_line *line,
                      struct cairn_err *err)
{
    int code = cairn_thread_text_forget(&r->threads, CAIRN_THREAD_NAME, err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_say(&r->threads, CAIRN_THREAD_NAME, line->text, err);
    return code == CAIRN_OK
               ? cairn_thread_text_say_number(&r->threads, CAIRN_THREAD_TID, line->tid, err)
               : code;
}

static int add_process(struct reading *r, const struct cairn_tombstone_line *line,
                       struct cairn_err *err)
{
    int code = begin(r, err);
    r->version = 0; /* of which Android it is, this text does not say */
    return code == CAIRN_OK
               ? cairn_thread_text_say_number(&r->threads, CAIRN_THREAD_PID, line->pid, err)
               : code;
}

static int add_parsed(struct reading *r, struct cairn_tombstone_line *line, bool is_cut,
                      struct cairn_err *err)
{
    struct cairn_thread_text *t = &r->threads;
    switch (line->kind) {
    case CAIRN_TOMBSTONE_FRAME:
        return add_frame(r, line, is_cut, err);
    case CAIRN_TOMBSTONE_BUILD:
        return add_build(r, line->text, err);
    case CAIRN_TOMBSTONE_HEAD:
        return add_head(r, line, err);
    case CAIRN_TOMBSTONE_SIGNAL:
        return add_signal(r, line->text, err);
    case CAIRN_TOMBSTONE_ABORT:
        return cairn_thread_text_say(t, CAIRN_THREAD_MESSAGE, line->text, err);
    case CAIRN_TOMBSTONE_STACK:
        return cairn_thread_text_say(t, CAIRN_THREAD_STACK, line->text, err);
    case CAIRN_TOMBSTONE_BACKTRACE:
        return cairn_thread_text_say(t, CAIRN_THREAD_STACK,
                                     cairn_span_of(r->is_crashed ? "crashed" : ""), err);
    case CAIRN_TOMBSTONE_PROCESS:
        return add_process(r, line, err);
    case CAIRN_TOMBSTONE_COMMAND:
        return cairn_thread_text_say(t, CAIRN_THREAD_PROCESS, line->text, err);
    case CAIRN_TOMBSTONE_THREAD:
        return add_thread(r, line, err);
    case CAIRN_TOMBSTONE_LOG:
        r->in_log = true;
        return cairn_thread_text_end(t, err);
    default:
        return CAIRN_OK;
    }
}

static int add_line(void *ctx, struct cairn_span text, bool is_cut, struct cairn_err *err)
{
    struct reading *r = ctx;
    struct cairn_tombstone_line line;
    cairn_tombstone_line_parse(text, &line);
    if (memchr(text.data, 0, text.size)) {
        r->threads.n_odd += line.kind == CAIRN_TOMBSTONE_FRAME;
        return CAIRN_OK;
    }
    if (line.kind == CAIRN_TOMBSTONE_BEGIN || line.kind == CAIRN_TOMBSTONE_NEXT)
        return begin(r, err);
    return r->in_log ? CAIRN_OK : add_parsed(r, &line, is_cut, err);
}

static int read_tombstone(struct cairn_source *source, struct cairn_profile *p,
                          struct cairn_err *err)
{
    struct reading r = {.threads.stacks.p = p};
    int code = cairn_stack_text_read(source, &r.threads.line, add_line, &r, err);
    if (code == CAIRN_OK && !r.has_build)
        code = add_build(&r, cairn_span_of("Android"), err);
    if (code == CAIRN_OK)
        code = cairn_thread_text_finish(&r.threads, "a tombstone",
                                        "a log may keep the frames elsewhere: take the file of "
                                        "/data/tombstones, or all of adb logcat -b crash",
                                        err);
    cairn_thread_text_done(&r.threads);
    cairn_buffer_done(&r.path);
    return code;
}

/* Thread dumps of Java have the same form, and the fingerprint likewise. */
static bool is_of_java(struct cairn_span text)
{
    return cairn_span_begins(text, "Build type: ") || cairn_span_find(text, "\" prio=") < text.size;
}

static bool sniff(struct cairn_span head)
{
    struct cairn_span text;
    struct cairn_tombstone_line line;
    bool has_build = false;
    while (cairn_stack_text_next(&head, &text)) {
        cairn_tombstone_line_parse(text, &line);
        if (is_of_java(text))
            return false;
        if (line.kind == CAIRN_TOMBSTONE_FRAME || line.kind == CAIRN_TOMBSTONE_HEAD ||
            line.kind == CAIRN_TOMBSTONE_THREAD)
            return true;
        has_build |= line.kind == CAIRN_TOMBSTONE_BUILD;
    }
    return has_build;
}

static const char *const endings[] = {NULL};

const struct cairn_format_row cairn_format_tombstone = {
    .format = CAIRN_FORMAT_TOMBSTONE,
    .name = "tombstone",
    .endings = endings,
    .in_log = true,
    .sniff = sniff,
    .read = read_tombstone,
};
