/* SPDX-License-Identifier: MIT */
// libcairn-track in a program: track LIBRARY SAMPLE CASE. It says ok.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <memory_tracker.h>

static void *tracker, *sample;
static std::string sample_name;

template <class F> static F find(void *library, const char *name)
{
    void *va = dlsym(library, name);
    if (!va) {
        printf("%s: %s\n", name, dlerror());
        exit(1);
    }
    return reinterpret_cast<F>(va);
}
#define TRACKER(name) find<decltype(&memory_tracker_##name)>(tracker, "memory_tracker_" #name)

static int failed;
static void same(const char *what, uint64_t got, uint64_t expected)
{
    if (got != expected) {
        printf("%s: %llu, expected %llu\n", what, (unsigned long long)got,
               (unsigned long long)expected);
        failed = 1;
    }
}

static memory_stats stats()
{
    memory_stats now;
    same("get_stats", TRACKER(get_stats)(&now), 0);
    return now;
}

static void *make(const char *function, size_t n)
{
    return find<void *(*)(size_t)>(sample, function)(n);
}

static int hook(std::vector<const char *> names)
{
    return TRACKER(hook)(names.data(), names.size());
}

static void load()
{
    sample = dlopen(sample_name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (!sample) {
        puts(dlerror());
        exit(1);
    }
}

// One block more, of so many bytes (0: any), and one less when it is freed.
static void counts(const char *what, void *block, size_t bytes, void (*release)(void *) = free)
{
    static uint64_t n;
    memory_stats now = stats();
    same(what, now.total_allocations, ++n);
    same(what, now.current_allocations, 1);
    if (bytes)
        same(what, now.current_bytes, bytes);
    release(block);
    now = stats();
    same(what, now.current_allocations, 0);
    same(what, now.total_frees, n);
}

static void functions()
{
    auto text = [](const char *name) { return (void *)find<char *(*)()>(sample, name)(); };
    auto release = [](const char *name) { return find<void (*)(void *)>(sample, name); };
    counts("malloc", make("sample_malloc", 100), 100);
    counts("malloc, freed by the library", make("sample_malloc", 101), 101, release("sample_free"));
    counts("malloc, freed by a kept pointer", make("sample_malloc", 102), 102,
           release("sample_kept_free"));
    counts("malloc, freed by a pointer in data", make("sample_malloc", 103), 103,
           release("sample_data_free"));
    counts("malloc, freed by what dlsym finds", make("sample_malloc", 104), 104,
           find<void (*)(void *)>(RTLD_DEFAULT, "free"));
    counts("a large block", make("sample_malloc", 10 << 20), 10 << 20);
    counts("calloc", make("sample_calloc", 50), 100);
    counts("posix_memalign", make("sample_memalign", 70), 70);
    counts("aligned_alloc", make("sample_aligned", 128), 128);
    counts("new", make("sample_new", 200), 200, [](void *block) { ::operator delete(block); });
    counts("new, deleted by the library", make("sample_new", 201), 201, release("sample_delete"));
    counts("new[]", make("sample_new_array", 202), 202, [](void *b) { ::operator delete[](b); });
    counts("new, aligned", make("sample_new_aligned", 256), 256,
           [](void *block) { ::operator delete(block, std::align_val_t(128)); });
    counts("strdup", text("sample_strdup"), 6);
    counts("strndup", text("sample_strndup"), 4);
    counts("wcsdup", text("sample_wcsdup"), 6 * sizeof(wchar_t));
    counts("realpath", text("sample_realpath"), 5);
    counts("getcwd", text("sample_getcwd"), 0);
    counts("asprintf", text("sample_asprintf"), 41);
}

static void moved()
{
    auto by_sample = find<void *(*)(void *, size_t)>(sample, "sample_realloc");
    auto array = find<void *(*)(void *, size_t)>(sample, "sample_reallocarray");
    void *block = by_sample(malloc(10), 3000); // the library asks for it
    same("realloc of another's", stats().current_bytes, 3000);
    block = array(block, 2000);
    same("reallocarray", stats().current_bytes, 4000);
    void *refused = by_sample(block, (size_t)1 << 62);
    same("realloc that fails", refused != nullptr, 0);
    same("a block whose realloc failed", stats().current_bytes, 4000);
    block = realloc(block, 9000); // the program asks for it
    same("realloc by another", stats().current_allocations, 0);
    free(block);
    free(find<char *(*)()>(sample, "sample_getline")());
    same("getline", stats().current_allocations, 0);
    char *text = find<char *(*)()>(sample, "sample_stream")();
    same("open_memstream", stats().current_bytes, 5001);
    free(text);
    auto *all = (std::vector<std::string> *)find<void *(*)()>(sample, "sample_vector")();
    same("a vector", stats().current_allocations >= 2, 1);
    delete all;
    same("a vector that another deletes", stats().current_allocations, 0);
    same("bad_alloc", find<int (*)()>(sample, "sample_throws")(), 42);
    same("after bad_alloc", stats().current_allocations, 0);
}

static void choice()
{
    same("no names", hook({}), (uint64_t)(int64_t)MEMORY_TRACKER_E_ARG);
    same("an empty name", hook({""}), (uint64_t)(int64_t)MEMORY_TRACKER_E_ARG);
    same("NULL", TRACKER(hook)(nullptr, 1), (uint64_t)(int64_t)MEMORY_TRACKER_E_ARG);
    free(malloc(50));
    same("another's blocks", stats().total_allocations, 0);
    const char *other[] = {"libother.so"}, *ours[] = {"libsample*.so"};
    same("unhook another", TRACKER(unhook)(other, 1), 0);
    void *block = make("sample_malloc", 1234);
    same("hooked still", stats().total_allocations, 1);
    same("unhook", TRACKER(unhook)(ours, 1), 0);
    void *unseen = make("sample_malloc", 10);
    same("unhooked", stats().total_allocations, 1);
    char *report = TRACKER(get_leak_report)();
    same("the report names the library", strstr(report, "size=1234, so=libsample") != nullptr, 1);
    free(report);
    free(block);
    free(unseen);
    same("a block lives on", stats().total_frees, 1);
    same("hook by path", hook({sample_name.c_str()}), 0);
    free(make("sample_malloc", 10));
    same("hooked by path", stats().total_allocations, 2);
}

// The same addresses again and again: what was known of the library that was there before is void.
static void unload()
{
    for (int i = 1; i <= 20; i++) {
        make("sample_malloc", 77);
        same("blocks", stats().current_allocations, i);
        dlclose(sample);
        load();
    }
    char *report = TRACKER(get_leak_report)();
    same("the report", strstr(report, "sample_malloc") != nullptr, 1);
    free(report);
}

static void threads()
{
    std::atomic<bool> stop{false};
    std::vector<std::thread> all;
    auto by_sample = find<void *(*)(size_t)>(sample, "sample_malloc");
    auto release = find<void (*)(void *)>(sample, "sample_kept_free");
    for (int i = 0; i < 8; i++)
        all.emplace_back([&] {
            while (!stop)
                for (int k = 0; k < 100; k++)
                    release(by_sample(k * 10 + 1));
        });
    const char *ours[] = {"libsample*.so"};
    for (int i = 0; i < 50; i++) {
        TRACKER(unhook)(ours, 1);
        std::thread([&] { free(by_sample(99)); }).join();
        hook({ours[0]});
        free(TRACKER(get_leaks_json)());
    }
    stop = true;
    for (auto &thread : all)
        thread.join();
    same("live blocks when all is done", stats().current_allocations, 0);
}

// A child of fork counts what it allocates itself.
static void child()
{
    void *block = make("sample_malloc", 500);
    pid_t pid = fork();
    if (pid == 0) {
        free(block);
        void *own = make("sample_malloc", 300);
        same("child", stats().current_bytes, 300);
        free(own);
        same("child", stats().current_allocations, 0);
        _exit(failed);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    same("the child's status", status, 0);
    same("parent", stats().current_bytes, 500);
    free(block);
}

int main(int, char **words)
{
    static const struct {
        const char *name;
        void (*run)();
    } cases[] = {{"functions", functions}, {"moved", moved},     {"choice", choice},
                 {"unload", unload},       {"threads", threads}, {"child", child}};
    tracker = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
    if (!tracker) {
        puts(dlerror());
        return 1;
    }
    sample_name = words[2];
    bool later = strstr(words[3], "later-") == words[3];
    const char *name = later ? words[3] + strlen("later-") : words[3];
    if (!later)
        load();
    same("hook before init", hook({"libsample*.so"}), (uint64_t)(int64_t)MEMORY_TRACKER_E_NOT_LIVE);
    same("init", TRACKER(init)(false, true), 0);
    same("hook", hook({"libsample*.so"}), 0);
    if (later)
        load();
    for (const auto &each : cases)
        if (strcmp(each.name, name) == 0)
            each.run();
    if (!failed)
        puts("ok");
    return failed;
}
