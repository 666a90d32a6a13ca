/* SPDX-License-Identifier: MIT */
/*
 * Thread text: stacks that a debugger or a runtime printed, one for each thread, on their way into
 * a profile. Each stack is a sample. What the text says about its thread are the sample's labels.
 *
 * A stack ends where something new is said about a thread, and at a frame whose number is not
 * higher than the last one's.
 */
#ifndef CAIRN_FORMATS_THREAD_TEXT_H
#define CAIRN_FORMATS_THREAD_TEXT_H

#include "formats/stack_text.h"

enum cairn_thread_label {
    CAIRN_THREAD_PROCESS,
    CAIRN_THREAD_PID,
    CAIRN_THREAD_NAME,
    CAIRN_THREAD_TID,
    CAIRN_THREAD_GOROUTINE,
    CAIRN_THREAD_STATE,
    CAIRN_THREAD_STACK,  /* which one it is, where a thread has several: "crashed" */
    CAIRN_THREAD_REPORT, /* why it was printed: a signal, a panic */
    CAIRN_THREAD_MESSAGE,
    CAIRN_THREAD_CREATED_BY,
    CAIRN_THREAD_MAP, /* of a program in the kernel, with the stack's other keys in it */
    CAIRN_THREAD_KEY,
    CAIRN_THREAD_CUT, /* why the stack ends early */
    CAIRN_THREAD_LABELS
};

struct cairn_thread_text {
    struct cairn_stack_text stacks;
    struct cairn_profile_label labels[CAIRN_THREAD_LABELS]; /* key 0: not said */
    uint64_t next_number;                                   /* of the stack's next frame */
    uint64_t line;                                          /* from 1 */
    uint64_t n_stacks;
    uint64_t n_odd;     /* lines of frames that cannot be read */
    uint64_t n_missing; /* frames that their numbers say are missing */
    uint64_t n_deep;    /* frames behind the deepest that a stack may have */
};

void cairn_thread_text_done(struct cairn_thread_text *text);

/* Each ends the stack that is read. A text is cut to 256 bytes; an empty one says nothing. */
int cairn_thread_text_say(struct cairn_thread_text *text, enum cairn_thread_label label,
                          struct cairn_span what, struct cairn_err *err);
int cairn_thread_text_say_number(struct cairn_thread_text *text, enum cairn_thread_label label,
                                 uint64_t number, struct cairn_err *err);
/* Says something about the stack that is read, which goes on. */
int cairn_thread_text_note(struct cairn_thread_text *text, enum cairn_thread_label label,
                           struct cairn_span what, struct cairn_err *err);
/* Forgets all labels from `first` on. */
int cairn_thread_text_forget(struct cairn_thread_text *text, enum cairn_thread_label first,
                             struct cairn_err *err);

/* The next frame of the stack, by its number in the text. */
int cairn_thread_text_frame(struct cairn_thread_text *text, uint64_t number,
                            const struct cairn_text_frame *frame, struct cairn_err *err);

/* The same for texts that do not number frames. */
int cairn_thread_text_next(struct cairn_thread_text *text, const struct cairn_text_frame *frame,
                           struct cairn_err *err);

/* Ends a stack that was counted `n` times, which may have no frames. */
int cairn_thread_text_end_counted(struct cairn_thread_text *text, int64_t n, struct cairn_err *err);

/* Ends the stack, if one is begun. */
int cairn_thread_text_end(struct cairn_thread_text *text, struct cairn_err *err);

/* Forgets the frames of the stack that is read. */
void cairn_thread_text_drop(struct cairn_thread_text *text);

/* Gives the profile its samples and says what was damaged. A text without a stack is an error:
 * `what` it is for the message, `hint` how stacks come into it. */
int cairn_thread_text_finish(struct cairn_thread_text *text, const char *what, const char *hint,
                             struct cairn_err *err);

#endif /* CAIRN_FORMATS_THREAD_TEXT_H */
