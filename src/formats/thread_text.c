/* SPDX-License-Identifier: MIT */
#include "formats/thread_text.h"

#include "base/error.h"
#include "base/log.h"

static const char *const keys[CAIRN_THREAD_LABELS] = {
    [CAIRN_THREAD_PROCESS] = "process",
    [CAIRN_THREAD_PID] = "pid",
    [CAIRN_THREAD_NAME] = "thread",
    [CAIRN_THREAD_TID] = "tid",
    [CAIRN_THREAD_GOROUTINE] = "goroutine",
    [CAIRN_THREAD_STATE] = "state",
    [CAIRN_THREAD_STACK] = "stack",
    [CAIRN_THREAD_REPORT] = "report",
    [CAIRN_THREAD_MESSAGE] = "message",
    [CAIRN_THREAD_CREATED_BY] = "created_by",
    [CAIRN_THREAD_MAP] = "map",
    [CAIRN_THREAD_KEY] = "key",
    [CAIRN_THREAD_CUT] = CAIRN_PROFILE_CUT_LABEL, /* which is no label in a profile */
};

void cairn_thread_text_done(struct cairn_thread_text *text)
{
    cairn_stack_text_done(&text->stacks);
}

/* The labels of the stack that ends; UINT32_MAX: memory is gone. */
static uint32_t take_labels(struct cairn_thread_text *text)
{
    struct cairn_profile_label labels[CAIRN_THREAD_LABELS];
    uint32_t n = 0,
             cut = text->labels[CAIRN_THREAD_CUT].key ? text->labels[CAIRN_THREAD_CUT].text : 0;
    for (size_t i = 0; i < CAIRN_THREAD_LABELS; i++)
        if (text->labels[i].key && i != CAIRN_THREAD_CUT)
            labels[n++] = text->labels[i];
    text->labels[CAIRN_THREAD_CUT].key = 0; /* said of one stack alone */
    text->n_stacks++;
    text->next_number = 0;
    return cairn_profile_add_label_set(text->stacks.p, labels, n, cut, 0);
}

int cairn_thread_text_end_counted(struct cairn_thread_text *text, int64_t n, struct cairn_err *err)
{
    return cairn_stack_text_end_counted(&text->stacks, take_labels(text), n, err);
}

int cairn_thread_text_end(struct cairn_thread_text *text, struct cairn_err *err)
{
    if (!cairn_stack_text_is_begun(&text->stacks))
        return CAIRN_OK;
    return cairn_stack_text_end(&text->stacks, take_labels(text), -1, -1, err);
}

int cairn_thread_text_note(struct cairn_thread_text *text, enum cairn_thread_label label,
                           struct cairn_span what, struct cairn_err *err)
{
    text->labels[label].key = 0;
    if (!what.size)
        return CAIRN_OK;
    return cairn_stack_text_label(text->stacks.p, keys[label], what, &text->labels[label])
               ? CAIRN_OK
               : cairn_fail_memory(err);
}

int cairn_thread_text_say(struct cairn_thread_text *text, enum cairn_thread_label label,
                          struct cairn_span what, struct cairn_err *err)
{
    int code = cairn_thread_text_end(text, err);
    return code < 0 ? code : cairn_thread_text_note(text, label, what, err);
}

int cairn_thread_text_say_number(struct cairn_thread_text *text, enum cairn_thread_label label,
                                 uint64_t number, struct cairn_err *err)
{
    int code = cairn_thread_text_end(text, err);
    uint32_t key = cairn_profile_text(text->stacks.p, keys[label], strlen(keys[label]));
    if (code < 0)
        return code;
    if (key == UINT32_MAX)
        return cairn_fail_memory(err);
    text->labels[label] = (struct cairn_profile_label){.key = key, .number = (int64_t)number};
    return CAIRN_OK;
}

int cairn_thread_text_forget(struct cairn_thread_text *text, enum cairn_thread_label first,
                             struct cairn_err *err)
{
    int code = cairn_thread_text_end(text, err);
    for (size_t i = first; i < CAIRN_THREAD_LABELS; i++)
        text->labels[i].key = 0;
    return code;
}

int cairn_thread_text_next(struct cairn_thread_text *text, const struct cairn_text_frame *frame,
                           struct cairn_err *err)
{
    text->next_number++;
    if (text->stacks.n_frames < CAIRN_PROFILE_DEPTH_MAX)
        return cairn_stack_text_frame(&text->stacks, frame, err);
    text->n_deep++;
    return CAIRN_OK;
}

int cairn_thread_text_frame(struct cairn_thread_text *text, uint64_t number,
                            const struct cairn_text_frame *frame, struct cairn_err *err)
{
    int code = number < text->next_number ? cairn_thread_text_end(text, err) : CAIRN_OK;
    if (code < 0)
        return code;
    uint64_t n_missing = number - text->next_number;
    if (__builtin_add_overflow(text->n_missing, n_missing, &text->n_missing))
        text->n_missing = UINT64_MAX;
    text->next_number = number;
    return cairn_thread_text_next(text, frame, err);
}

void cairn_thread_text_drop(struct cairn_thread_text *text)
{
    text->stacks.n_frames = 0;
    text->stacks.has_last = false;
    text->next_number = 0;
}

static void report_damage(const struct cairn_thread_text *text)
{
    if (text->n_odd || text->n_missing)
        cairn_log(CAIRN_LOG_WARNING,
                  "the text is damaged: %llu frames are missing from its "
                  "stacks, %llu lines of frames cannot be read",
                  (unsigned long long)text->n_missing, (unsigned long long)text->n_odd);
    if (text->n_deep)
        cairn_log(CAIRN_LOG_WARNING, "%llu frames are left out: a stack holds at most %d",
                  (unsigned long long)text->n_deep, CAIRN_PROFILE_DEPTH_MAX);
}

int cairn_thread_text_finish(struct cairn_thread_text *text, const char *what, const char *hint,
                             struct cairn_err *err)
{
    int code = cairn_thread_text_end(text, err);
    if (code == CAIRN_OK && !text->n_stacks) {
        cairn_fail(err, CAIRN_E_FORMAT, "%s without a stack", what);
        cairn_hint(err, "%s", hint);
        return CAIRN_E_FORMAT;
    }
    if (code < 0)
        return code;
    report_damage(text);
    return cairn_stack_text_finish(&text->stacks, err);
}
