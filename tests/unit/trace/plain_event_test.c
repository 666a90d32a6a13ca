/* SPDX-License-Identifier: MIT */
#include "trace/plain_event.h"

#include <string.h>
#include <unistd.h>

#include "support/emulated.h"
#include "support/test.h"

enum { COPIED = 8 };

static char text[] = "a text that is longer than what was copied of it";

/* The first bytes of `text`, as they were when the event came. */
static struct cairn_plain_memory memory(const char *copied)
{
    return (struct cairn_plain_memory){.tid = getpid(),
                                       .copy = {(uintptr_t)text, {(const uint8_t *)copied, COPIED}},
                                       .is_running = true};
}

static void take(const struct cairn_bpf_call *row, const char *copied,
                 struct cairn_plain_pending *pending)
{
    const struct cairn_plain_memory of = memory(copied);
    const struct cairn_stopped_call call = {.args = {(uintptr_t)text, 20}};
    const struct cairn_call_thread thread = {.pid = getpid(), .tid = getpid()};
    cairn_plain_begin(pending, &thread, &call, 0);
    cairn_plain_take(pending, row, &of, false);
}

static void a_text_goes_on_behind_the_copy(void **state)
{
    (void)state;
    if (is_emulated("process_vm_readv(2) is missing"))
        skip();
    static struct cairn_plain_pending pending;
    const struct cairn_bpf_call row = {.text = {1}};
    take(&row, "A TEXT t", &pending);
    assert_string_equal(pending.event.payload.text[0],
                        "A TEXT that is longer than what was copied of it");
    assert_int_equal(pending.event.payload.n_text[0], sizeof text);
    assert_int_equal(pending.event.event.late, 1);
}

static void a_text_in_the_copy_is_not_late(void **state)
{
    (void)state;
    static struct cairn_plain_pending pending;
    const struct cairn_bpf_call row = {.text = {1}};
    take(&row, "short\0x", &pending);
    assert_string_equal(pending.event.payload.text[0], "short");
    assert_int_equal(pending.event.event.late, 0);
}

static void bytes_go_on_behind_the_copy(void **state)
{
    (void)state;
    if (is_emulated("process_vm_readv(2) is missing"))
        skip();
    static struct cairn_plain_pending pending;
    const struct cairn_bpf_call row = {.data = 1, .data_size = 2};
    take(&row, "A TEXT t", &pending);
    assert_int_equal(pending.event.payload.n_data, 20);
    assert_memory_equal(pending.event.payload.data, "A TEXT that is longer", 20);
    assert_int_equal(pending.event.event.late, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_goes_on_behind_the_copy),
        cmocka_unit_test(a_text_in_the_copy_is_not_late),
        cmocka_unit_test(bytes_go_on_behind_the_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
