/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cairn/agent.h>

#include "tests/support/test.h"

#define ID  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define UID "11111111-2222-3333-4444-555555555555"

static void a_path_says_unit_container_and_pod(void **state)
{
    (void)state;
    static const struct {
        const char *path, *unit, *container, *pod_uid;
    } rows[] = {
        {"/", "", "", ""},
        {"", "", "", ""},
        {"/system.slice/nginx.service", "nginx.service", "", ""},
        {"/user.slice/user-0.slice/session-3.scope", "session-3.scope", "", ""},
        {"/user.slice/user@1000.service/app.slice/app-x.scope/", "app-x.scope", "", ""},
        {"/system.slice/docker-" ID ".scope", "", ID, ""},
        {"/docker/" ID, "", ID, ""},
        {"/machine.slice/libpod-" ID ".scope/container", "", ID, ""},
        {"/kubepods.slice/kubepods-burstable.slice/"
         "kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice/"
         "cri-containerd-" ID ".scope",
         "", ID, UID},
        {"/kubepods/burstable/pod" UID "/" ID, "", ID, UID},
        {"/kubepods/besteffort/podnothing/x", "", "", ""},
        {"/x/f" ID, "", "", ""}, /* 65 digits */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct cairn_workload w;
        cairn_workload_of(rows[i].path, &w);
        assert_string_equal(w.unit, rows[i].unit);
        assert_string_equal(w.container, rows[i].container);
        assert_string_equal(w.pod_uid, rows[i].pod_uid);
    }
}

static void a_long_unit_with_odd_bytes_is_cut_and_cleaned(void **state)
{
    (void)state;
    char path[2000];
    struct cairn_workload w;
    memset(path, '\n', sizeof path);
    path[0] = '/';
    strcpy(path + sizeof path - sizeof ".service", ".service");
    cairn_workload_of(path, &w);
    assert_int_equal(strlen(w.unit), sizeof w.unit - 1);
    assert_null(strchr(w.unit, '\n'));
}

static void put(const char *root, const char *folder, const char *name, const char *text)
{
    char path[600];
    for (const char *at = folder; at; at = strchr(at + 1, '/')) {
        snprintf(path, sizeof path, "%s/%.*s", root, (int)(at - folder), folder);
        mkdir(path, 0700);
    }
    snprintf(path, sizeof path, "%s/%s", root, folder);
    mkdir(path, 0700);
    if (!name)
        return;
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void files_of_runtimes_say_names_and_images(void **state)
{
    (void)state;
    char root[] = "/tmp/cairn-workload-XXXXXX", command[80];
    struct cairn_workload w;
    assert_non_null(mkdtemp(root));
    put(root, "/var/lib/docker/containers/" ID, "config.v2.json",
        "{\"Image\":\"sha256:1\",\"Config\":{\"Image\":\"nginx:1.25\"},\"Name\":\"/web\"}");
    put(root, "/var/log/pods/shop_cart-7f_" UID, NULL, NULL);
    put(root, "/var/log/pods/odd", NULL, NULL);
    cairn_workload_find("/docker/" ID, root, &w);
    assert_string_equal(w.name, "web");
    assert_string_equal(w.image, "nginx:1.25");
    cairn_workload_find("/kubepods/pod" UID "/" ID, root, &w);
    assert_string_equal(w.space, "shop");
    assert_string_equal(w.pod, "cart-7f");
    put(root, "/run/containerd/io.containerd.runtime.v2.task/k8s.io/" ID, "config.json",
        "{\"annotations\":{\"io.kubernetes.cri.container-name\":\"main\","
        "\"io.kubernetes.cri.image-name\":\"cart:2\",\"io.kubernetes.cri.sandbox-name\":\"c\","
        "\"io.kubernetes.cri.sandbox-namespace\":\"\\u0041\"}}");
    cairn_workload_find("/kubepods/pod" UID "/" ID, root, &w);
    assert_string_equal(w.name, "main");
    assert_string_equal(w.image, "cart:2");
    assert_string_equal(w.pod, "c");
    assert_string_equal(w.space, ""); /* an escape: unknown */
    snprintf(command, sizeof command, "rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_says_unit_container_and_pod),
        cmocka_unit_test(a_long_unit_with_odd_bytes_is_cut_and_cleaned),
        cmocka_unit_test(files_of_runtimes_say_names_and_images),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
