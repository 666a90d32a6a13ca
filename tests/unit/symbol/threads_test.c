/* SPDX-License-Identifier: MIT */
/* Symbolizers are independent: two threads with one each, on the same file and the same cache, and
 * each making indexes with threads of its own. A thread sanitizer sees what the answers do not. */
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/log.h>

#include "symbol/symbolizer.h"
#include "unit/symbol/index_module.h"

enum { THREADS = 2, ROUNDS = 12 };

static char work[64], path[96];

static int remove_one(const char *one, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(one);
}

static bool leaf_is_named(struct cairn_symbolizer *s, struct cairn_module *m)
{
    struct cairn_symbol symbol;
    for (uint64_t vaddr = 0x1000; vaddr < 0x1400; vaddr += 7)
        if (cairn_symbolize(s, m, vaddr, &symbol, NULL) < 0)
            return false;
    return cairn_symbolize(s, m, 0x1014, &symbol, NULL) == CAIRN_OK && symbol.n_frames == 2 &&
           strcmp(symbol.frames[0].function, "app::leaf(int)") == 0;
}

/* In a round of its own each way in, from nothing to the freed symbolizer. */
static void *symbolize(void *ctx)
{
    bool *fine = ctx;
    for (int round = 0; round < ROUNDS && *fine; round++) {
        struct cairn_symbolizer_opts opts = {.size = sizeof opts,
                                             .use_cache = round % 3 != 0,
                                             .cache_dir = work,
                                             .n_threads = 2,
                                             .index = (enum cairn_index_use)(round % 3)};
        struct cairn_symbolizer *s = NULL;
        struct cairn_module *m;
        struct cairn_err err;
        *fine = cairn_symbolizer_new(&opts, &s, &err) == CAIRN_OK;
        if (*fine) {
            s->way.small_bytes = 0;
            *fine =
                cairn_symbolizer_open_file(s, path, &m, &err) == CAIRN_OK && leaf_is_named(s, m);
        }
        cairn_symbolizer_free(s);
    }
    return NULL;
}

static void ignore_log(void *ctx, enum cairn_log_level level, const char *text)
{
    (void)ctx;
    (void)level;
    (void)text;
}

static void two_symbolizers_in_two_threads_do_not_meet(void **state)
{
    (void)state;
    size_t size;
    uint8_t *bytes = made_elf(&size);
    snprintf(work, sizeof work, "/tmp/cairn-threads.XXXXXX");
    assert_non_null(mkdtemp(work));
    snprintf(path, sizeof path, "%s/module", work);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, bytes, size), size);
    close(fd);
    free(bytes);
    cairn_log_set(ignore_log, NULL, CAIRN_LOG_DEBUG);
    pthread_t threads[THREADS];
    bool fine[THREADS];
    for (int i = 0; i < THREADS; i++) {
        fine[i] = true;
        assert_int_equal(pthread_create(&threads[i], NULL, symbolize, &fine[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(fine[i]);
    }
    cairn_log_set(NULL, NULL, CAIRN_LOG_WARNING);
    nftw(work, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_symbolizers_in_two_threads_do_not_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
