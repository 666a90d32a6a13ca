/* SPDX-License-Identifier: MIT */
#include <sys/mman.h>
#include <unistd.h>

#include <cairn/doctor.h>

#include "base/alloc.h"
#include "support/test.h"

enum { NO_SUCH_PID = 0x3fffffff };

static const struct cairn_doctor_finding *find(const struct cairn_doctor *doctor, const char *key)
{
    for (size_t i = 0; i < cairn_doctor_count(doctor); i++)
        if (strcmp(cairn_doctor_get(doctor, i)->key, key) == 0)
            return cairn_doctor_get(doctor, i);
    fail_msg("there is no finding %s", key);
    return NULL;
}

static void this_machine_is_examined(void **state)
{
    (void)state;
    struct cairn_doctor *doctor;
    struct cairn_err err;
    assert_ok(cairn_doctor_new(NULL, &doctor, &err), err);
    assert_contains(cairn_doctor_title(doctor), "Linux ");
    assert_int_equal(cairn_doctor_n_modules(doctor), 0);
    assert_null(cairn_doctor_module(doctor, 0));
    assert_null(cairn_doctor_get(doctor, cairn_doctor_count(doctor)));
    enum cairn_doctor_group group = CAIRN_DOCTOR_COMMANDS;
    for (size_t i = 0; i < cairn_doctor_count(doctor); i++) {
        const struct cairn_doctor_finding *finding = cairn_doctor_get(doctor, i);
        assert_true(finding->group >= group); /* grouped, in order */
        group = finding->group;
        assert_int_not_equal(group, CAIRN_DOCTOR_PROCESS);
        if (finding->level == CAIRN_DOCTOR_NO || finding->level == CAIRN_DOCTOR_PART)
            assert_string_not_equal(finding->why, "");
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(cairn_doctor_get(doctor, k)->key, finding->key);
    }
    assert_int_equal(find(doctor, "resolve")->level, CAIRN_DOCTOR_YES);
    assert_int_equal(find(doctor, "heap.folder")->level, CAIRN_DOCTOR_YES);
    cairn_doctor_free(doctor);
    cairn_doctor_free(NULL);
}

static void this_process_is_examined(void **state)
{
    (void)state;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const struct cairn_doctor_opts opts = {.size = sizeof opts, .pid = getpid()};
    struct cairn_doctor *doctor;
    struct cairn_err err;
    void *code = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(code, MAP_FAILED);
    assert_ok(cairn_doctor_new(&opts, &doctor, &err), err);
    munmap(code, page);
    char exe[4096] = "";
    assert_true(readlink("/proc/self/exe", exe, sizeof exe - 1) > 0);
    assert_string_equal(find(doctor, "process.program")->value, exe);
    assert_int_equal(find(doctor, "process.memory")->level, CAIRN_DOCTOR_YES);
    const struct cairn_doctor_module *own = NULL, *nameless = NULL;
    for (size_t i = 0; i < cairn_doctor_n_modules(doctor); i++) {
        const struct cairn_doctor_module *module = cairn_doctor_module(doctor, i);
        if (strcmp(module->path, exe) == 0)
            own = module;
        if (!*module->path)
            nameless = module;
    }
    assert_non_null(own);
    assert_string_equal(own->symbols, ".symtab");
    assert_string_not_equal(own->tables, "");
    assert_non_null(nameless);
    assert_true(nameless->code_bytes >= page);
    cairn_doctor_free(doctor);
}

static void wrong_questions_are_refused(void **state)
{
    (void)state;
    struct cairn_doctor *doctor = NULL;
    struct cairn_err err;
    const struct cairn_doctor_opts gone = {.size = sizeof gone, .pid = NO_SUCH_PID};
    const struct cairn_doctor_opts negative = {.size = sizeof negative, .pid = -1};
    const struct cairn_doctor_opts sizeless = {0};
    assert_fails(cairn_doctor_new(&gone, &doctor, &err), CAIRN_E_MISSING, err, "pid 1073741823");
    assert_fails(cairn_doctor_new(&negative, &doctor, &err), CAIRN_E_ARG, err, "pid -1");
    assert_fails(cairn_doctor_new(&sizeless, &doctor, &err), CAIRN_E_ARG, err, "size");
    assert_null(doctor);
    assert_string_equal(cairn_doctor_group_name((enum cairn_doctor_group)99), "?");
    assert_string_equal(cairn_doctor_level_name((enum cairn_doctor_level)99), "?");
}

/* Memory that is gone makes poorer findings, or the error that says so. */
static void it_fails_cleanly_without_memory(void **state)
{
    (void)state;
    const struct cairn_doctor_opts opts = {.size = sizeof opts, .pid = getpid()};
    for (long n = 0; n < 600; n += n < 8 ? 1 : 73) {
        struct cairn_doctor *doctor = NULL;
        struct cairn_err err;
        cairn_alloc_fail_after(n);
        int code = cairn_doctor_new(&opts, &doctor, &err);
        cairn_alloc_fail_after(-1);
        if (code != CAIRN_OK)
            assert_null(doctor);
        cairn_doctor_free(doctor);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_machine_is_examined),
        cmocka_unit_test(this_process_is_examined),
        cmocka_unit_test(wrong_questions_are_refused),
        cmocka_unit_test(it_fails_cleanly_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
