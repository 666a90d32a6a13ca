/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <unistd.h>

#include "sample/space.h"
#include "tests/support/test.h"

struct fixture {
    struct cairn_profile *profile;
    struct cairn_spaces spaces;
    struct cairn_space *space;
};

static struct fixture begin(void)
{
    struct fixture f = {0};
    assert_int_equal(cairn_profile_new(&f.profile, NULL), CAIRN_OK);
    cairn_spaces_init(&f.spaces, f.profile);
    f.space = cairn_spaces_get(&f.spaces, getpid());
    assert_non_null(f.space);
    return f;
}

static void drop(struct fixture *f)
{
    cairn_spaces_done(&f->spaces);
    cairn_profile_free(f->profile);
}

static struct cairn_stream_map *map(struct fixture *f, const struct cairn_stream_mapping *news)
{
    assert_int_equal(cairn_space_add(&f->spaces, f->space, news), CAIRN_OK);
    return cairn_stream_space_find(&f->space->code, news->start);
}

static uint32_t module_at(struct fixture *f, uint64_t va)
{
    return cairn_space_module(&f->spaces, f->space, cairn_stream_space_find(&f->space->code, va));
}

static uint64_t va_of(struct fixture *f, uint64_t va)
{
    return cairn_stream_va(f->profile, cairn_stream_space_find(&f->space->code, va), va);
}

static void a_file_is_one_module_wherever_it_is_mapped(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct cairn_stream_mapping news = {
        .start = 0x1000, .size = 0x1000, .off = 0x4000, .dev = 1, .inode = 2, .path = "/no/file"};
    map(&f, &news);
    news.start = 0x9000;
    map(&f, &news);
    news.start = 0xc000;
    news.inode = 3;
    map(&f, &news);
    assert_int_equal(module_at(&f, 0x1000), 1);
    assert_int_equal(module_at(&f, 0x9000), 1);
    assert_int_equal(module_at(&f, 0xc000), 2);
    assert_int_equal(va_of(&f, 0x9234), 0x1234);
    assert_int_equal(va_of(&f, 0xc234), 0xc234);
    drop(&f);
}

/* MAP_SHARED without a file has an inode all the same. Compilers map such memory, too. */
static void shared_memory_without_a_name_is_known_by_its_place(void **state)
{
    (void)state;
    struct fixture f = begin();
    struct cairn_stream_mapping mapping = {.start = 0x1000,
                                           .size = 0x3000,
                                           .off = 0x5000,
                                           .dev = 1,
                                           .inode = 2,
                                           .path = "/dev/zero (deleted)"};
    map(&f, &mapping);
    const uint32_t number = module_at(&f, 0x1000);
    const struct cairn_profile_module *module = &f.profile->modules[number];
    assert_string_equal(cairn_strings_get(&f.profile->strings, module->path), "[anon]");
    assert_true(cairn_stream_module_is_made(&f.spaces.all.modules, number));
    assert_int_equal(va_of(&f, 0x3234), 0x3234);
    mapping.start = 0x2000; /* a file in the middle of it */
    mapping.size = 0x1000;
    mapping.path = "/no/file";
    map(&f, &mapping);
    assert_int_equal(module_at(&f, 0x3000), number);
    assert_int_equal(va_of(&f, 0x3234), 0x3234);
    assert_false(cairn_stream_module_is_made(&f.spaces.all.modules, module_at(&f, 0x2000)));
    drop(&f);
}

/* Bytes that are told to be a vdso. */
static uint64_t add_vdso(struct fixture *f, struct cairn_span bytes, size_t changed)
{
    uint8_t *at =
        mmap(NULL, bytes.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    memcpy(at, bytes.data, bytes.size);
    at[changed]++;
    const struct cairn_stream_mapping news = {
        .start = (uintptr_t)at, .size = bytes.size, .path = "[vdso]"};
    map(f, &news);
    return news.start;
}

/* Each program that is started has it at a place of its own. */
static void so_is_the_vdso_where_its_bytes_are_ours(void **state)
{
    (void)state;
    struct cairn_span vdso = cairn_vdso_of_self();
    if (!vdso.size) {
        print_message("skipped: this process has no vdso\n");
        skip();
    }
    struct fixture f = begin();
    const struct cairn_stream_mapping ours = {
        .start = (uintptr_t)vdso.data, .size = vdso.size, .path = "[vdso]"};
    uint64_t other = add_vdso(&f, vdso, vdso.size - 1);
    uint64_t same = add_vdso(&f, vdso, vdso.size - 1);
    ((uint8_t *)(uintptr_t)same)[vdso.size - 1]--;
    map(&f, &ours);
    assert_int_equal(module_at(&f, ours.start), 1);
    assert_int_equal(module_at(&f, same), 1);
    assert_int_equal(module_at(&f, other), 2);
    assert_true(va_of(&f, same + 9) == ours.start + 9);
    assert_true(va_of(&f, other + 9) == other + 9);
    assert_true(f.profile->modules[1].build_id != 0);
    assert_true(f.profile->modules[2].build_id == 0);
    munmap((void *)(uintptr_t)same, vdso.size);
    munmap((void *)(uintptr_t)other, vdso.size);
    drop(&f);
}

/* Processes whose memory is not there any more. */
static void the_vdso_of_who_is_gone_is_told_by_its_size_and_place(void **state)
{
    (void)state;
    struct cairn_span vdso = cairn_vdso_of_self();
    if (!vdso.size || UINTPTR_MAX == UINT32_MAX) {
        print_message("skipped: this process has no vdso, or no 64 bits\n");
        skip();
    }
    struct fixture f = begin();
    struct cairn_stream_mapping news = {
        .start = 0x7fff12340000, .size = vdso.size, .path = "[vdso]"};
    f.space->mem_state = -1;
    map(&f, &news);
    news.start = 0x40000000; /* of a 32-bit program */
    map(&f, &news);
    news.start = 0x7fff56780000;
    news.size += 4096;
    map(&f, &news);
    assert_true(f.profile->modules[module_at(&f, 0x7fff12340000)].build_id != 0);
    assert_true(f.profile->modules[module_at(&f, 0x40000000)].build_id == 0);
    assert_true(f.profile->modules[module_at(&f, 0x7fff56780000)].build_id == 0);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_one_module_wherever_it_is_mapped),
        cmocka_unit_test(shared_memory_without_a_name_is_known_by_its_place),
        cmocka_unit_test(so_is_the_vdso_where_its_bytes_are_ours),
        cmocka_unit_test(the_vdso_of_who_is_gone_is_told_by_its_size_and_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
