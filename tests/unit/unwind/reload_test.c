/* SPDX-License-Identifier: MIT */
/*
 * libcairn-unwind opened, used and closed again and again, as a plugin would have it: what it has
 * installed in the process (a handler, its block in the threads) must not outlive its code.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cairn/unwind.h>

#include "support/test.h"

enum { ROUNDS = 100, THREADS = 4, ROOM = 64, SECOND_NS = 1000000000 };

static struct {
    size_t (*here)(uintptr_t *, size_t, struct cairn_unwind_info *);
    size_t (*thread)(int, uint64_t, uintptr_t *, size_t, struct cairn_unwind_info *);
} call;

static void *capture(void *arg)
{
    uintptr_t ips[ROOM];
    struct cairn_unwind_info info = {.size = sizeof info};
    (void)arg;
    size_t n = call.here(ips, ROOM, &info);
    return n > 1 && info.end == CAIRN_END_OUTERMOST ? NULL : (void *)1;
}

static void *open_library(void)
{
    void *library = dlopen(UNWIND_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    *(void **)&call.here = dlsym(library, "cairn_unwind_here");
    *(void **)&call.thread = dlsym(library, "cairn_unwind_thread");
    assert_non_null(call.here);
    assert_non_null(call.thread);
    return library;
}

static void the_library_may_be_closed_and_opened_again(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        void *library = open_library();
        pthread_t threads[THREADS];
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, capture, NULL), 0);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            assert_null(result);
        }
        assert_int_equal(dlclose(library), 0);
    }
}

static void a_signal_behind_its_end_hurts_nobody(void **state)
{
    (void)state;
    uintptr_t ips[ROOM];
    for (int round = 0; round < 3; round++) {
        void *library = open_library();
        assert_true(call.thread((int)syscall(SYS_gettid), SECOND_NS, ips, ROOM, NULL) > 0);
        assert_int_equal(dlclose(library), 0);
        raise(SIGURG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_library_may_be_closed_and_opened_again),
        cmocka_unit_test(a_signal_behind_its_end_hurts_nobody),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
