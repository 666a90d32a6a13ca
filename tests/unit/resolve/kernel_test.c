/* SPDX-License-Identifier: MIT */
/* Profiles with kernel frames and with code made at run time: slides, modules, whose map it is. */
#include "proc/kernel.h"

#include "base/alloc.h"
#include "profile/profile.h"
#include "resolve/fixture.h"
#include "resolve/frame_pids.h"

static const uint64_t text_linked = 0xffffffff81000000, slide = 0x19000000;

static const char kallsyms[] = "ffffffff9a000000 T _text\nffffffff9a000110 t do_syscall_64\n"
                               "ffffffff9a000200 T vfs_read\nffffffff9a000340 T _etext\n"
                               "ffffffffc0a01000 t nft_do_chain\t[nf_tables]\n";
static const char system_map[] = "ffffffff81000000 T _text\nffffffff81000110 t do_syscall_64\n"
                                 "ffffffff81000200 T vfs_read\nffffffff81000340 T _etext\n";

/* A vmlinux as x86-64 has it: per-CPU data at 0, which is not code, and the text. */
static void write_vmlinux(void)
{
    struct test_elf *w = malloc(sizeof *w);
    assert_non_null(w);
    *w = test_elf_of(true, false, ET_EXEC, EM_X86_64);
    test_elf_load(w, PF_R | PF_W, 0x800, 0, 0x100, 0x100);
    test_elf_load(w, PF_R | PF_X, 0x1000, text_linked, 0x400, 0x400);
    static const uint8_t id[] = {0xaa, 0xbb, 0xcc, 0xdd};
    test_elf_build_id(w, id, sizeof id, true);
    uint16_t text = fixture_code(w, ".text", SHT_PROGBITS, text_linked, 0x400);
    fixture_function(w, "read_by_vmlinux", text, text_linked + 0x200, 0x80);
    fixture_finish(w, "vmlinux-1.2.3");
    free(w);
}

static int enter(void **state)
{
    if (fixture_enter(state) != 0)
        return -1;
    fixture_write("kallsyms", kallsyms, strlen(kallsyms));
    fixture_write("System.map", system_map, strlen(system_map));
    write_vmlinux();
    return 0;
}

static const char *file(char path[256], const char *name)
{
    snprintf(path, 256, "%s/%s", fixture_dir, name);
    return path;
}

static uint32_t add_module(struct cairn_profile *p, const char *path, uint64_t start, uint64_t end,
                           uint64_t off)
{
    const struct cairn_profile_module module = {
        .start = start, .end = end, .off = off, .path = cairn_profile_text(p, path, strlen(path))};
    return cairn_profile_add_module(p, &module);
}

static void add_sample(struct cairn_profile *p, int pid, uint64_t address, uint32_t module)
{
    const int64_t value = 1;
    const struct cairn_profile_frame frame = {
        .address = address, .module = module, .how = CAIRN_HOW_FP};
    const struct cairn_profile_label label = {.key = cairn_profile_text(p, "pid", 3),
                                              .number = pid};
    uint32_t number = cairn_profile_add_frame(p, &frame, NULL, 0);
    uint32_t stack = cairn_profile_add_stack(p, 0, number);
    assert_int_not_equal(
        cairn_profile_add_sample(p, stack, cairn_profile_add_labels(p, &label, 1), &value),
        UINT32_MAX);
}

static struct cairn_profile *new_profile(void)
{
    struct cairn_profile *p;
    assert_int_equal(cairn_profile_new(&p, NULL), CAIRN_OK);
    cairn_profile_add_type(p, "samples", "count");
    return p;
}

static const char *name_of(const struct cairn_profile *p, uint32_t frame)
{
    const struct cairn_profile_frame *f = &p->frames[frame];
    return f->n_lines
               ? cairn_strings_get(&p->strings, p->functions[p->lines[f->lines].function].name)
               : "-";
}

/* A profile of a kernel of build `id` that lay at `text`, named; the caller frees it. */
static struct cairn_profile *profile_of_build(const struct cairn_resolve_opts *opts, uint64_t text,
                                              const char *id)
{
    struct cairn_profile *p = new_profile();
    struct cairn_resolver *resolver;
    struct cairn_err err = {0};
    assert_int_equal(cairn_profile_add_comment(p, "kernel: 1.2.3"), CAIRN_OK);
    uint32_t module = add_module(p, "[kernel.kallsyms]", 0x8000000000000000, UINT64_MAX, text);
    p->modules[module].build_id = cairn_profile_text(p, id, strlen(id));
    add_sample(p, 1, text_linked + slide + 0x114, module);
    add_sample(p, 1, text_linked + slide + 0x210, module);
    add_sample(p, 1, 0xffffffffc0a01004, module);
    assert_ok(cairn_resolver_new(opts, &resolver, &err), err);
    assert_ok(cairn_resolve_profile(resolver, p, &err), err);
    cairn_resolver_free(resolver);
    return p;
}

static struct cairn_profile *kernel_profile(const struct cairn_resolve_opts *opts, uint64_t text)
{
    return profile_of_build(opts, text, "");
}

static void a_list_of_the_same_boot_names_modules_too(void **state)
{
    (void)state;
    char path[256];
    const struct cairn_resolve_opts opts = {.size = sizeof opts,
                                            .kallsyms = file(path, "kallsyms")};
    struct cairn_profile *p = kernel_profile(&opts, text_linked + slide);
    assert_string_equal(name_of(p, 1), "do_syscall_64");
    assert_string_equal(name_of(p, 2), "vfs_read");
    assert_string_equal(name_of(p, 3), "nft_do_chain");
    assert_int_equal(p->frames[1].what, CAIRN_WHAT_KERNEL);
    assert_string_equal(cairn_profile_module_name(p, p->frames[2].module), "[kernel.kallsyms]");
    assert_string_equal(cairn_profile_module_name(p, p->frames[3].module), "[nf_tables]");
    cairn_profile_free(p);
}

static void a_list_of_another_boot_is_moved_and_names_no_modules(void **state)
{
    (void)state;
    char path[256];
    const struct cairn_resolve_opts opts = {.size = sizeof opts,
                                            .kallsyms = file(path, "kallsyms")};
    struct cairn_profile *p = new_profile();
    struct cairn_resolver *resolver;
    const uint64_t again = 0x3000000;
    uint32_t module = add_module(p, "[kernel.kallsyms]", 0x8000000000000000, UINT64_MAX,
                                 text_linked + slide + again);
    add_sample(p, 1, text_linked + slide + again + 0x210, module);
    add_sample(p, 1, 0xffffffffc0a01004 + again, module);
    assert_int_equal(cairn_resolver_new(&opts, &resolver, NULL), CAIRN_OK);
    assert_int_equal(cairn_resolve_profile(resolver, p, NULL), CAIRN_OK);
    assert_string_equal(name_of(p, 1), "vfs_read");
    assert_string_equal(name_of(p, 2), "-");
    struct cairn_resolve_summary summary = {.size = sizeof summary};
    cairn_resolver_summary(resolver, &summary);
    assert_int_equal(summary.frames_by_cause[CAIRN_CAUSE_NO_SYMBOL], 1);
    cairn_resolver_free(resolver);
    cairn_profile_free(p);
}

static void system_map_and_vmlinux_are_moved_by_the_address_of_text(void **state)
{
    (void)state;
    char path[256], elf[256];
    const struct cairn_resolve_opts opts = {.size = sizeof opts,
                                            .kallsyms = file(path, "System.map"),
                                            .vmlinux = file(elf, "vmlinux-1.2.3")};
    struct cairn_profile *p = kernel_profile(&opts, text_linked + slide);
    assert_string_equal(name_of(p, 1), "do_syscall_64"); /* vmlinux has no symbol there */
    assert_string_equal(name_of(p, 2), "read_by_vmlinux");
    assert_string_equal(name_of(p, 3), "-");
    cairn_profile_free(p);
    /* The profile does not know where the kernel lay: only who is told can say. */
    p = kernel_profile(&opts, 0x8000000000000000);
    assert_string_equal(name_of(p, 2), "-");
    cairn_profile_free(p);
    struct cairn_resolve_opts told = opts;
    told.kernel_slide = slide;
    told.has_kernel_slide = 1;
    p = kernel_profile(&told, 0x8000000000000000);
    assert_string_equal(name_of(p, 1), "do_syscall_64");
    assert_string_equal(name_of(p, 2), "read_by_vmlinux");
    cairn_profile_free(p);
}

static void a_list_in_memory_tells_how_far_vmlinux_was_moved(void **state)
{
    (void)state;
    char path[256], elf[256];
    const struct cairn_resolve_opts opts = {.size = sizeof opts,
                                            .kallsyms = file(path, "kallsyms"),
                                            .vmlinux = file(elf, "vmlinux-1.2.3")};
    struct cairn_profile *p = kernel_profile(&opts, 0x8000000000000000);
    assert_string_equal(name_of(p, 1), "do_syscall_64");
    assert_string_equal(name_of(p, 2), "read_by_vmlinux");
    assert_string_equal(name_of(p, 3), "nft_do_chain");
    cairn_profile_free(p);
}

static void a_vmlinux_is_found_by_its_build(void **state)
{
    (void)state;
    struct cairn_resolve_opts opts = fixture_opts(NULL);
    struct cairn_profile *p = profile_of_build(&opts, text_linked + slide, "aabbccdd");
    assert_string_equal(name_of(p, 2), "read_by_vmlinux");
    assert_string_equal(name_of(p, 3), "-");
    cairn_profile_free(p);
    p = profile_of_build(&opts, 0x8000000000000000, "aabbccdd"); /* moved nobody knows how far */
    assert_string_equal(name_of(p, 2), "-");
    cairn_profile_free(p);
    p = profile_of_build(&opts, text_linked + slide, "aabbccee");
    assert_string_equal(name_of(p, 2), "-");
    cairn_profile_free(p);
}

static void a_vmlinux_of_another_build_is_refused(void **state)
{
    (void)state;
    char elf[256];
    struct cairn_resolve_opts opts = {.size = sizeof opts, .vmlinux = file(elf, "vmlinux-1.2.3")};
    struct cairn_profile *p = profile_of_build(&opts, text_linked + slide, "aabbccee");
    assert_string_equal(name_of(p, 2), "-");
    assert_contains(fixture_said, "build ID aabbccdd, that of the kernel is aabbccee");
    assert_contains(fixture_said, "--allow-mismatch");
    cairn_profile_free(p);
    opts.symbols.allow_mismatch = 1;
    p = profile_of_build(&opts, text_linked + slide, "aabbccee");
    assert_string_equal(name_of(p, 2), "read_by_vmlinux");
    cairn_profile_free(p);
}

static void a_kernel_without_a_list_says_so(void **state)
{
    (void)state;
    fixture_said[0] = 0;
    const struct cairn_resolve_opts opts = {.size = sizeof opts};
    struct cairn_profile *p = kernel_profile(&opts, text_linked + slide);
    assert_string_equal(name_of(p, 1), "-");
    assert_contains(fixture_said, "[kernel.kallsyms]: no kernel symbols for 3 of 3");
    assert_contains(fixture_said, "--kallsyms FILE");
    cairn_profile_free(p);
}

static void the_page_of_vsyscall_has_three_functions(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    struct cairn_resolver *resolver;
    uint32_t module = add_module(p, "[vsyscall]", 0xffffffffff600000, 0xffffffffff601000, 0);
    add_sample(p, 1, 0xffffffffff600000, module);
    add_sample(p, 1, 0xffffffffff600404, module);
    add_sample(p, 1, 0xffffffffff600c00, module);
    assert_int_equal(cairn_resolver_new(NULL, &resolver, NULL), CAIRN_OK);
    assert_int_equal(cairn_resolve_profile(resolver, p, NULL), CAIRN_OK);
    assert_string_equal(name_of(p, 1), "vgettimeofday");
    assert_string_equal(name_of(p, 2), "vtime");
    assert_string_equal(name_of(p, 3), "-");
    cairn_resolver_free(resolver);
    cairn_profile_free(p);
}

static void the_vdso_of_this_build_is_named_and_no_other(void **state)
{
    (void)state;
    char id[CAIRN_KERNEL_BUILD_ID_SIZE];
    cairn_vdso_build_id(id);
    if (!id[0])
        skip(); /* an emulator, or a kernel without one */
    static const char *const other = "00112233445566778899aabbccddeeff00112233";
    const char *const ids[] = {id, other};
    for (int i = 0; i < 2; i++) {
        struct cairn_profile *p = new_profile();
        struct cairn_resolver *resolver;
        const struct cairn_profile_module vdso = {
            .start = 0x7fff00000000,
            .end = 0x7fff00002000,
            .path = cairn_profile_text(p, "[vdso]", 6),
            .build_id = cairn_profile_text(p, ids[i], strlen(ids[i]))};
        uint32_t module = cairn_profile_add_module(p, &vdso);
        for (uint64_t off = 0x400; off < 0x2000; off += 0x10)
            add_sample(p, 1, vdso.start + off, module);
        assert_int_equal(cairn_resolver_new(NULL, &resolver, NULL), CAIRN_OK);
        assert_int_equal(cairn_resolve_profile(resolver, p, NULL), CAIRN_OK);
        bool found = false;
        for (uint32_t f = 1; f < p->n_frames; f++)
            found |= strstr(name_of(p, f), "gettime") != NULL;
        assert_int_equal(found, i == 0);
        cairn_resolver_free(resolver);
        cairn_profile_free(p);
    }
}

static void each_process_has_a_perf_map_of_its_own(void **state)
{
    (void)state;
    static const char first[] = "1000 100 first\n5000 100 of a file\n",
                      second[] = "1000 100 second\n";
    fixture_write("perf-11.map", first, strlen(first));
    fixture_write("perf-22.map", second, strlen(second));
    struct cairn_profile *p = new_profile();
    struct cairn_resolver *resolver;
    uint32_t library = add_module(p, "/opt/gone.so", 0x5000, 0x6000, 0);
    add_sample(p, 11, 0x1010, 0);
    add_sample(p, 22, 0x1020, 0);
    add_sample(p, 11, 0x1030, 0);
    add_sample(p, 22, 0x1030, 0); /* in both, and other code in each */
    add_sample(p, 33, 0x1040, 0);
    add_sample(p, 11, 0x5010, library);
    const char *const folders[] = {fixture_dir};
    const struct cairn_resolve_opts opts = {
        .size = sizeof opts, .perf_maps = folders, .n_perf_maps = 1};
    assert_int_equal(cairn_resolver_new(&opts, &resolver, NULL), CAIRN_OK);
    assert_int_equal(cairn_resolve_profile(resolver, p, NULL), CAIRN_OK);
    assert_string_equal(name_of(p, 1), "first");
    assert_int_equal(p->frames[1].what, CAIRN_WHAT_JIT);
    assert_int_equal(p->frames[1].how, CAIRN_HOW_FP); /* as before: a name does not change it */
    assert_string_equal(name_of(p, 2), "second");
    assert_string_equal(name_of(p, 3), "-");
    assert_string_equal(name_of(p, 4), "-");
    assert_string_equal(name_of(p, 5), "-");
    cairn_resolver_free(resolver);
    cairn_profile_free(p);
}

static void frames_know_their_process_through_their_stacks(void **state)
{
    (void)state;
    struct cairn_profile *p = new_profile();
    const int64_t value = 1;
    uint32_t root = 0, leaves[3];
    for (uint64_t i = 1; i <= 4; i++) {
        const struct cairn_profile_frame frame = {.address = i};
        uint32_t number = cairn_profile_add_frame(p, &frame, NULL, 0);
        if (i == 1)
            root = cairn_profile_add_stack(p, 0, number);
        else
            leaves[i - 2] = cairn_profile_add_stack(p, root, number);
    }
    for (int i = 0; i < 3; i++) {
        const struct cairn_profile_label label = {.key = cairn_profile_text(p, "pid", 3),
                                                  .number = 5 + 2 * i};
        const struct cairn_profile_marker marker = {
            .stack = leaves[i], .labels = cairn_profile_add_labels(p, &label, 1)};
        if (i < 2)
            cairn_profile_add_sample(p, leaves[i], marker.labels, &value);
        else
            cairn_profile_add_marker(p, &marker);
    }
    int32_t *pids;
    assert_int_equal(cairn_frame_pids(p, &pids, NULL), CAIRN_OK);
    assert_int_equal(pids[1], CAIRN_FRAME_PID_MANY);
    assert_int_equal(pids[2], 5);
    assert_int_equal(pids[3], 7);
    assert_int_equal(pids[4], 9);
    cairn_free(pids);
    cairn_profile_free(p);
}

/* Memory may end at any place; nothing is named then, and nothing is lost. */
static void lack_of_memory_is_told_at_every_allocation(void **state)
{
    (void)state;
    char path[256], elf[256], map[256];
    static const char jit[] = "1000 100 made\n";
    fixture_write("perf-1.map", jit, strlen(jit));
    const char *const maps[] = {file(map, "perf-1.map"), fixture_dir};
    struct cairn_resolve_opts opts = {.size = sizeof opts,
                                      .kallsyms = file(path, "kallsyms"),
                                      .vmlinux = file(elf, "vmlinux-1.2.3"),
                                      .perf_maps = maps,
                                      .n_perf_maps = 2};
    int result = CAIRN_E_NOMEM;
    long n = 0;
    for (; result == CAIRN_E_NOMEM; n++) {
        struct cairn_profile *p = new_profile();
        struct cairn_resolver *resolver = NULL;
        uint32_t module =
            add_module(p, "[kernel.kallsyms]", 0x8000000000000000, UINT64_MAX, text_linked + slide);
        add_sample(p, 1, text_linked + slide + 0x210, module);
        add_sample(p, 1, 0xffffffffc0a01004, module);
        add_sample(p, 1, 0x1010, 0);
        add_sample(p, 1, 0xffffffffff600000, 0);
        cairn_alloc_fail_after(n);
        result = cairn_resolver_new(&opts, &resolver, NULL);
        if (result == CAIRN_OK)
            result = cairn_resolve_profile(resolver, p, NULL);
        cairn_alloc_fail_after(-1);
        if (result == CAIRN_OK)
            for (uint32_t frame = 1; frame <= 4; frame++)
                assert_string_not_equal(name_of(p, frame), "-");
        cairn_resolver_free(resolver);
        cairn_profile_free(p);
    }
    assert_int_equal(result, CAIRN_OK);
    assert_in_range(n, 50, 5000);
}

#define WITH_FILES(test) cmocka_unit_test_setup_teardown(test, enter, fixture_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILES(a_list_of_the_same_boot_names_modules_too),
        WITH_FILES(a_list_of_another_boot_is_moved_and_names_no_modules),
        WITH_FILES(system_map_and_vmlinux_are_moved_by_the_address_of_text),
        WITH_FILES(a_list_in_memory_tells_how_far_vmlinux_was_moved),
        WITH_FILES(a_vmlinux_is_found_by_its_build),
        WITH_FILES(a_vmlinux_of_another_build_is_refused),
        WITH_FILES(a_kernel_without_a_list_says_so),
        WITH_FILES(the_page_of_vsyscall_has_three_functions),
        WITH_FILES(the_vdso_of_this_build_is_named_and_no_other),
        WITH_FILES(each_process_has_a_perf_map_of_its_own),
        WITH_FILES(lack_of_memory_is_told_at_every_allocation),
        WITH_FILES(frames_know_their_process_through_their_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
