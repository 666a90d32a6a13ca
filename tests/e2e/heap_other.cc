// SPDX-License-Identifier: MIT
// heap_other CASE: blocks by malloc and by operator new beside another allocator. Live in the end: 10 of
// each of 3001 (malloc), 3002 (new), 3003 (new[]), 3004 (aligned new), 3005 (nothrow); as many are freed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>

#ifdef JEMALLOC
#include <jemalloc/jemalloc.h>
#endif

static void *volatile kept;

static void by_names_of_c()
{
    for (int i = 0; i < 20; i++) {
        kept = std::malloc(3001);
        if (i % 2)
            std::free(kept);
        kept = ::operator new(3002);
        if (i % 2)
            ::operator delete(kept, 3002ul);
        kept = ::operator new[](3003);
        if (i % 2)
            ::operator delete[](kept);
        kept = ::operator new(3004, std::align_val_t(64));
        if (i % 2)
            ::operator delete(kept, std::align_val_t(64));
        kept = ::operator new(3005, std::nothrow);
        if (i % 2)
            ::operator delete(kept, std::nothrow);
    }
}

int main(int argc, char **argv)
{
    by_names_of_c();
#ifdef JEMALLOC
    kept = mallocx(5001, 0);
    void *p = std::malloc(5002);
    sdallocx(p, 5002, 0);
#endif
    if (argc > 1) {
        int mode = RTLD_NOW | (std::strcmp(argv[1], "deep") == 0 ? RTLD_DEEPBIND : 0);
        void *library = std::strcmp(argv[1], "apart") == 0 ? dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW)
                                                          : dlopen(argv[2], mode);
        if (!library) {
            std::fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        int (*lose)(void) = reinterpret_cast<int (*)(void)>(dlsym(library, "lose"));
        return lose ? lose() : 2;
    }
    return 0;
}
