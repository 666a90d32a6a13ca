/* SPDX-License-Identifier: MIT */
/*
 * Remote: the protocol between a cairn here (the near end) and a cairn that runs at the far end of
 * a user's own shell. Bytes in, answers out: nothing here opens a file or a connection. Both ends
 * trust nothing that they read. docs/formats/remote.md describes the bytes.
 *
 *     far   text of the shell, magic, HELLO, (OUT | ERR | ASK | BEAT)..., EXIT
 *     near  RUN, (CANCEL | ANSWER | BEAT)...
 *
 * Threads: one object may be used by one thread at a time.
 */
#ifndef CAIRN_REMOTE_H
#define CAIRN_REMOTE_H

#include <stddef.h>
#include <stdint.h>

#include <cairn/api.h>
#include <cairn/error.h>
#include <cairn/profile.h>
#include <cairn/resolve.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CAIRN_REMOTE_VERSION = 1,
    CAIRN_REMOTE_FRAME_MAX = 1 << 20,  /* bytes of one frame */
    CAIRN_REMOTE_BANNER_MAX = 1 << 16, /* bytes of text before the magic */
    CAIRN_REMOTE_WORDS_MAX = 4096,     /* of a command line */
};

/* Later versions add kinds at the end; a reader refuses those that it does not know. */
enum cairn_remote_kind {
    CAIRN_REMOTE_HELLO = 1, /* far: who answers, see cairn_remote_hello */
    CAIRN_REMOTE_RUN,       /* near: the command line to run; once */
    CAIRN_REMOTE_CANCEL,    /* near: end it, as Ctrl-C does */
    CAIRN_REMOTE_BEAT,      /* both: still there; empty */
    CAIRN_REMOTE_OUT,       /* far: bytes of the command's stdout */
    CAIRN_REMOTE_ERR,       /* far: bytes of its stderr */
    CAIRN_REMOTE_ASK,       /* far: addresses that want names */
    CAIRN_REMOTE_ANSWER,    /* near: names for the last ASK; empty: there are none */
    CAIRN_REMOTE_EXIT,      /* far: the exit status, one byte; the last frame */
    CAIRN_REMOTE_KINDS
};

struct cairn_remote_frame {
    size_t size;
    enum cairn_remote_kind kind;
    const uint8_t *data; /* borrowed until the next call on the reader */
    size_t data_size;
};

struct cairn_remote_reader;

/* `from_far`: a magic comes first, behind a banner that may be any text. */
CAIRN_API int cairn_remote_reader_new(int from_far, struct cairn_remote_reader **ret_reader,
                                      struct cairn_err *err);
CAIRN_API void cairn_remote_reader_free(struct cairn_remote_reader *reader); /* accepts NULL */

/* Takes the next bytes of the connection, any number. CAIRN_E_NOMEM. */
CAIRN_API int cairn_remote_reader_add(struct cairn_remote_reader *reader, const void *bytes,
                                      size_t size, struct cairn_err *err);

/* The next whole frame: 1; 0 where more bytes are needed. CAIRN_E_FORMAT, CAIRN_E_LIMIT: what the
 * peer sends is no protocol of ours; the reader is of no use after that. */
CAIRN_API int cairn_remote_reader_next(struct cairn_remote_reader *reader,
                                       struct cairn_remote_frame *ret_frame, struct cairn_err *err);

/* Where the script that starts the far end found no cairn: the line that it says instead of a
 * hello, "SYSTEM MACHINE FOLDER". NULL: not so, or not yet. */
CAIRN_API const char *cairn_remote_reader_absent(const struct cairn_remote_reader *reader);

/* The same reader for what comes after an installation: another magic. */
CAIRN_API void cairn_remote_reader_restart(struct cairn_remote_reader *reader);

/* The end of the text before the magic: a refusal of a shell, mostly. Borrowed. */
CAIRN_API const char *cairn_remote_reader_banner(struct cairn_remote_reader *reader,
                                                 size_t *ret_size);

/* What the far end writes first, and the frames of both. CAIRN_E_LIMIT for more than
 * CAIRN_REMOTE_FRAME_MAX bytes; CAIRN_E_IO where `write` refuses. */
CAIRN_API int cairn_remote_write_magic(cairn_write_fn write, void *ctx, struct cairn_err *err);
CAIRN_API int cairn_remote_write(enum cairn_remote_kind kind, const void *bytes, size_t size,
                                 cairn_write_fn write, void *ctx, struct cairn_err *err);

/* What a HELLO says. Texts are cut to their arrays. */
struct cairn_remote_hello {
    size_t size;
    uint32_t version;   /* of the protocol; CAIRN_REMOTE_VERSION where it is written */
    char cairn[64];     /* "0.1.0" */
    char machine[64];   /* "x86_64" */
    char host[128];     /* as the far end calls itself */
    uint32_t uid;       /* whose rights it has, */
    uint64_t abilities; /* and which of root's, as CapEff of /proc/self/status */
    char features[128]; /* names with blanks between: "names" */
};
CAIRN_API int cairn_remote_write_hello(const struct cairn_remote_hello *hello, cairn_write_fn write,
                                       void *ctx, struct cairn_err *err);
/* CAIRN_E_SUPPORT: it speaks another version. CAIRN_E_FORMAT: it is no hello. */
CAIRN_API int cairn_remote_read_hello(const void *bytes, size_t size,
                                      struct cairn_remote_hello *ret_hello, struct cairn_err *err);

/* What a RUN asks. */
enum cairn_remote_wish {
    CAIRN_REMOTE_ASK_NAMES = 1,   /* names are asked of the near end first */
    CAIRN_REMOTE_NAME_OUTPUT = 2, /* a profile on stdout has names, too */
};
struct cairn_remote_run {
    size_t size;
    unsigned wishes;  /* bits of cairn_remote_wish */
    unsigned columns; /* of the terminal that reads the text; 0: there is none */
    char **words;     /* the command line behind the program's name; ends with NULL */
    size_t n_words;
};
CAIRN_API int cairn_remote_write_run(const struct cairn_remote_run *run, cairn_write_fn write,
                                     void *ctx, struct cairn_err *err);
/* The words are in one block, which cairn_remote_run_done() frees. CAIRN_E_FORMAT. */
CAIRN_API int cairn_remote_read_run(const void *bytes, size_t size,
                                    struct cairn_remote_run *ret_run, struct cairn_err *err);
CAIRN_API void cairn_remote_run_done(struct cairn_remote_run *run);

/* Sends an ASK, and gets its ANSWER, borrowed until the next call. Negative ends the asking. */
typedef int (*cairn_remote_exchange_fn)(void *ctx, const void *ask, size_t size,
                                        const void **ret_answer, size_t *ret_size,
                                        struct cairn_err *err);

/* Far end: names frames of files with a build ID by asking, and leaves the others as they are.
 * CAIRN_E_FORMAT: the answer is damaged. */
CAIRN_API int cairn_remote_ask_names(struct cairn_profile *profile,
                                     cairn_remote_exchange_fn exchange, void *ctx,
                                     struct cairn_err *err);

/* Near end: answers one ASK by a resolver, which takes files of the very build ID alone. The answer
 * goes to `write` in one piece or several. CAIRN_E_FORMAT, CAIRN_E_LIMIT: it is no ASK. */
struct cairn_remote_count {
    size_t size;
    uint64_t n_asked, n_named; /* addresses */
};
CAIRN_API int cairn_remote_answer_names(struct cairn_resolver *resolver, const void *ask,
                                        size_t size, cairn_write_fn write, void *ctx,
                                        struct cairn_remote_count *ret_count,
                                        struct cairn_err *err);

#ifdef __cplusplus
}
#endif
#endif /* CAIRN_REMOTE_H */
