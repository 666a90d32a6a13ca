/* SPDX-License-Identifier: MIT */
/* Kernel logs of whatever wrote them: whole and in small pieces they give the same dumps. */
#include <stdlib.h>
#include <string.h>

#include <cairn/klog.h>

#include "base/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sums {
    uint64_t n_dumps, hash;
};

/* Reads all that a dump says, so that a sanitizer sees what does not hold. */
static int sum_dump(void *ctx, const struct cairn_klog_dump *dump)
{
    struct sums *sums = ctx;
    const char *const texts[] = {dump->title, dump->section,  dump->comm,
                                 dump->time,  dump->build_id, dump->no_user};
    sums->n_dumps++;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        sums->hash += cairn_hash_bytes(texts[i], strlen(texts[i]));
    for (size_t i = 0; i < dump->n_frames; i++) {
        const struct cairn_klog_frame *frame = &dump->frames[i];
        struct cairn_klog_symbol symbol;
        size_t n = strlen(frame->text);
        if (cairn_klog_symbol(frame->text, n, &symbol) > n)
            abort();
        sums->hash += cairn_hash_bytes(frame->text, n) ^ frame->va ^ frame->marks;
    }
    return 0;
}

static struct sums read_log(const uint8_t *data, size_t size, size_t piece)
{
    struct sums sums = {0};
    struct cairn_klog *klog;
    if (cairn_klog_new(sum_dump, &sums, &klog, NULL) != CAIRN_OK)
        return sums;
    for (size_t at = 0; at < size; at += piece)
        if (cairn_klog_feed(klog, data + at, size - at < piece ? size - at : piece, NULL) < 0)
            break;
    (void)cairn_klog_flush(klog, NULL);
    struct cairn_klog_counts counts = {.size = sizeof counts};
    cairn_klog_counts(klog, &counts);
    if (counts.n_dumps != sums.n_dumps)
        abort();
    cairn_klog_free(klog);
    return sums;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sums whole = read_log(data, size, size + 1), pieces = read_log(data, size, 7);
    if (whole.n_dumps != pieces.n_dumps || whole.hash != pieces.hash)
        abort();
    (void)cairn_klog_recognize(data, size);
    return 0;
}
