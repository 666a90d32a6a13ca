/* SPDX-License-Identifier: MIT */
/* The protocol of -H HOST. The first byte says which end reads, the second in what pieces; what a
 * frame holds is read as that end reads it. */
#include <cairn/remote.h>
#include <cairn/resolve.h>

#include "base/buffer.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int add(void *out, const void *bytes, size_t size)
{
    cairn_buffer_add(out, bytes, size);
    return 0;
}

static void read_ask(const struct cairn_remote_frame *frame)
{
    struct cairn_resolve_opts opts = {.size = sizeof opts};
    struct cairn_remote_count count = {.size = sizeof count};
    struct cairn_resolver *resolver;
    struct cairn_buffer out = {0};
    opts.symbols.size = sizeof opts.symbols;
    opts.symbols.debug_dir = "/nonexistent";
    opts.symbols.root = "/nonexistent";
    if (cairn_resolver_new(&opts, &resolver, NULL) < 0)
        __builtin_trap();
    if (cairn_remote_answer_names(resolver, frame->data, frame->data_size, add, &out, &count,
                                  NULL) == CAIRN_OK &&
        (count.n_named || out.size < count.n_asked))
        __builtin_trap();
    cairn_buffer_done(&out);
    cairn_resolver_free(resolver);
}

static int give(void *frame, const void *ask, size_t size, const void **ret_answer,
                size_t *ret_size, struct cairn_err *err)
{
    const struct cairn_remote_frame *answer = frame;
    (void)ask, (void)size, (void)err;
    *ret_answer = answer->data;
    *ret_size = answer->data_size;
    return CAIRN_OK;
}

static void read_answer(struct cairn_remote_frame *frame)
{
    struct cairn_profile *p;
    if (cairn_profile_new(&p, NULL) < 0)
        __builtin_trap();
    struct cairn_profile_module module = {.start = 0x1000, .end = 0x2000};
    module.path = cairn_profile_text(p, "/x", 2);
    module.build_id = cairn_profile_text(p, "0123456789abcdef", 16);
    uint32_t number = cairn_profile_add_module(p, &module);
    for (uint64_t i = 0; i < 2; i++)
        (void)cairn_profile_add_frame(
            p, &(struct cairn_profile_frame){.address = 0x1000 + i, .module = number}, NULL, 0);
    (void)cairn_remote_ask_names(p, give, frame, NULL);
    for (size_t i = 1; i < p->n_frames; i++)
        for (uint32_t j = 0; j < p->frames[i].n_lines; j++)
            if (p->lines[p->frames[i].lines + j].function >= p->n_functions)
                __builtin_trap();
    cairn_profile_free(p);
}

static void read_frame(struct cairn_remote_frame *frame)
{
    struct cairn_remote_hello hello = {.size = sizeof hello};
    struct cairn_remote_run run = {.size = sizeof run};
    switch (frame->kind) {
    case CAIRN_REMOTE_HELLO:
        (void)cairn_remote_read_hello(frame->data, frame->data_size, &hello, NULL);
        break;
    case CAIRN_REMOTE_RUN:
        if (cairn_remote_read_run(frame->data, frame->data_size, &run, NULL) == CAIRN_OK)
            cairn_remote_run_done(&run);
        break;
    case CAIRN_REMOTE_ASK:
        read_ask(frame);
        break;
    case CAIRN_REMOTE_ANSWER:
        read_answer(frame);
        break;
    default:
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cairn_remote_reader *reader;
    if (size < 2 || cairn_remote_reader_new(data[0] & 1, &reader, NULL) < 0)
        return 0;
    size_t piece = (data[1] & 15) ? (size_t)(data[1] & 15) : size;
    int code = 0;
    for (size_t at = 2; at < size && code >= 0; at += piece) {
        struct cairn_remote_frame frame = {.size = sizeof frame};
        size_t n = size - at < piece ? size - at : piece, n_banner;
        if (cairn_remote_reader_add(reader, data + at, n, NULL) < 0)
            __builtin_trap();
        while ((code = cairn_remote_reader_next(reader, &frame, NULL)) == 1)
            read_frame(&frame);
        if (cairn_remote_reader_absent(reader))
            cairn_remote_reader_restart(reader);
        (void)cairn_remote_reader_banner(reader, &n_banner);
    }
    cairn_remote_reader_free(reader);
    return 0;
}
