/* SPDX-License-Identifier: MIT */
/* Each test has a private folder that is the root of a container: its os-release, dpkg's lists. */
#include "debugfile/debug_source.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

#define ID "c561f3aa7232f2bd6ac6d56bd475f1c154a00486"

static char root[64];

static int enter(void **state)
{
    (void)state;
    unsetenv("DEBUGINFOD_URLS");
    snprintf(root, sizeof root, "/tmp/cairn-debugsource.XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

static int leave(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The path below the root; its folders are made. */
static const char *place(const char *path)
{
    static char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *p = full + strlen(root) + 1; (p = strchr(p, '/')); p++) {
        *p = '\0';
        mkdir(full, 0755);
        *p = '/';
    }
    return full;
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(place(path), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void put_debian(void)
{
    put("/etc/os-release", "NAME=\"Debian GNU/Linux\"\nID=debian\nVERSION_CODENAME=bookworm\n");
    put("/var/lib/dpkg/info/bash.list", "/.\n/bin\n/bin/bash\n/etc/bash.bashrc\n");
    put("/var/lib/dpkg/info/zlib1g:amd64.list", "/usr/lib/x86_64-linux-gnu/libz.so.1.2.13\n");
    put("/var/lib/dpkg/info/libc6:amd64.list", "/lib/x86_64-linux-gnu/libc.so.6\n");
    put("/var/lib/dpkg/info/python3.11-minimal.list", "/usr/bin/python3.11\n");
    put("/var/lib/dpkg/info/odd-dev.list", "/usr/bin/odd");
    put("/var/lib/dpkg/info/readme", "/usr/bin/none\n");
}

/* What is said of one file of the container. */
static const char *said_of(const char *path, const char *build_id)
{
    static struct cairn_debug_source source;
    static char file[512];
    snprintf(file, sizeof file, "%s%s", root, path);
    source = (struct cairn_debug_source){.file = file, .build_id = build_id};
    cairn_debug_sources_find(root, &source, 1);
    return source.text;
}

static void a_package_of_debian_is_named(void **state)
{
    (void)state;
    put_debian();
    assert_string_equal(said_of("/usr/bin/bash", ID),
                        "bash-dbgsym (deb http://deb.debian.org/debian-debug bookworm-debug main) "
                        "or https://debuginfod.debian.net/buildid/" ID
                        "/debuginfo should have its debug file");
    assert_string_equal(said_of("/usr/lib/x86_64-linux-gnu/libz.so.1.2.13", ""),
                        "zlib1g-dbgsym (deb http://deb.debian.org/debian-debug bookworm-debug "
                        "main) should have its debug file");
    assert_contains(said_of("/usr/bin/odd", ""), "odd-dev-dbgsym");
}

static void some_packages_have_an_older_name(void **state)
{
    (void)state;
    put_debian();
    assert_string_equal(said_of("/usr/lib/x86_64-linux-gnu/libc.so.6", ""),
                        "libc6-dbg should have its debug file");
    assert_string_equal(said_of("/usr/bin/python3.11", ""),
                        "python3.11-dbg should have its debug file");
}

static void a_file_of_no_package_has_no_source(void **state)
{
    (void)state;
    put_debian();
    assert_string_equal(said_of("/usr/local/bin/bash", ID), "");
    assert_string_equal(said_of("/usr/bin/bas", ID), "");
    assert_string_equal(said_of("/usr/bin/none", ID), "");
}

static void others_are_sent_to_their_server(void **state)
{
    (void)state;
    put("/usr/lib/os-release", "ID=\"fedora\"\n");
    assert_string_equal(said_of("/usr/bin/bash", ID),
                        "https://debuginfod.fedoraproject.org/buildid/" ID
                        "/debuginfo should have its debug file");
    assert_string_equal(said_of("/usr/bin/bash", ""), "");
    assert_string_equal(said_of("/home/me/a.out", ID), "");
    put("/usr/lib/os-release", "ID=ours\n");
    assert_string_equal(said_of("/usr/bin/bash", ID), "");
}

static void ubuntu_has_an_archive_of_its_own(void **state)
{
    (void)state;
    put_debian();
    put("/etc/os-release", "VERSION_CODENAME=noble\nID=ubuntu\n");
    assert_contains(said_of("/usr/bin/bash", ID),
                    "bash-dbgsym (deb http://ddebs.ubuntu.com noble main universe) or "
                    "https://debuginfod.ubuntu.com/buildid/" ID);
}

static void a_wish_goes_before_the_server(void **state)
{
    (void)state;
    put_debian();
    setenv("DEBUGINFOD_URLS", " https://debug.example.org// http://other", 1);
    assert_string_equal(said_of("/home/me/a.out", ID), "https://debug.example.org/buildid/" ID
                                                       "/debuginfo should have its debug file");
    assert_contains(said_of("/usr/bin/bash", ID), "or https://debug.example.org/buildid/");
    setenv("DEBUGINFOD_URLS", "ima:enforcing", 1);
    assert_string_equal(said_of("/home/me/a.out", ID), "");
}

/* Whoever fills a root that others look into. */
static void nothing_leads_out_of_a_root(void **state)
{
    (void)state;
    char outside[128];
    put_debian();
    snprintf(outside, sizeof outside, "%s.outside", root);
    FILE *f = fopen(outside, "w");
    assert_non_null(f);
    fputs("/usr/bin/evil\n", f);
    fclose(f);
    assert_int_equal(symlink(outside, place("/var/lib/dpkg/info/evil.list")), 0);
    assert_int_equal(symlink("/dev/zero", place("/var/lib/dpkg/info/zero.list")), 0);
    assert_int_equal(mkfifo(place("/var/lib/dpkg/info/pipe.list"), 0644), 0);
    assert_string_equal(said_of("/usr/bin/evil", ID), "");
    unlink(outside);
    assert_int_equal(unlink(place("/etc/os-release")), 0);
    assert_int_equal(symlink("/etc/os-release", place("/etc/os-release")), 0);
    assert_string_equal(said_of("/usr/bin/bash", ID), "");
}

static void odd_names_are_no_packages(void **state)
{
    (void)state;
    put_debian();
    put("/var/lib/dpkg/info/\033[31m;rm -rf.list", "/usr/bin/red\n");
    assert_string_equal(said_of("/usr/bin/red", ""), "");
    put("/etc/os-release", "ID=debian\nVERSION_CODENAME=\"x\033[31m\"\n");
    assert_null(strchr(said_of("/usr/bin/bash", ID), '\033'));
}

static void files_of_the_host_are_the_hosts(void **state)
{
    (void)state;
    put_debian();
    struct cairn_debug_source source = {.file = "/nowhere/usr/bin/python3.11", .build_id = ID};
    cairn_debug_sources_find(root, &source, 1);
    assert_string_equal(source.text, "");
    source.file = "";
    cairn_debug_sources_find(NULL, &source, 1);
    assert_string_equal(source.text, "");
}

/* The maps of a process behind chroot(2) have paths as the host sees them. */
static void a_root_may_be_a_link_to_a_folder(void **state)
{
    (void)state;
    char link[96], file[128];
    put_debian();
    snprintf(link, sizeof link, "%s.link", root);
    snprintf(file, sizeof file, "%s/usr/bin/python3.11", root);
    assert_int_equal(symlink(root, link), 0);
    struct cairn_debug_source source = {.file = file, .build_id = ""};
    cairn_debug_sources_find(link, &source, 1);
    unlink(link);
    assert_string_equal(source.text, "python3.11-dbg should have its debug file");
}

#define root_test(name) cmocka_unit_test_setup_teardown(name, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        root_test(a_package_of_debian_is_named),       root_test(some_packages_have_an_older_name),
        root_test(a_file_of_no_package_has_no_source), root_test(others_are_sent_to_their_server),
        root_test(ubuntu_has_an_archive_of_its_own),   root_test(a_wish_goes_before_the_server),
        root_test(nothing_leads_out_of_a_root),        root_test(odd_names_are_no_packages),
        root_test(files_of_the_host_are_the_hosts),    root_test(a_root_may_be_a_link_to_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
