// SPDX-License-Identifier: MIT
// Every form of operator new and delete, called and counted. REPLACED: the forms that this program (or
// library) replaces, bit by bit in the order of the numbers below. A replaced form counts its calls and does
// what its default version does; the two that call malloc put a header of 16 bytes before the block,
// and the two that call free abort where it is missing.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#ifdef __cpp_aligned_new
#define ALIGNED 1
#define AL      , std::align_val_t
#else
#define ALIGNED 0
#endif

// Numbers that the preprocessor knows.
#define N    0
#define NA   1
#define NN   2
#define NAN  3
#define D    4
#define DA   5
#define DS   6
#define DAS  7
#define DN   8
#define DAN  9
#define NL   10
#define NAL  11
#define NLN  12
#define NALN 13
#define DL   14
#define DAL  15
#define DSL  16
#define DASL 17
#define DLN  18
#define DALN 19
#define FORMS 20

// C++11 and g++ -std=c++11 do not declare the sized forms.
void operator delete(void *, std::size_t) noexcept;
void operator delete[](void *, std::size_t) noexcept;

extern "C" int counts[FORMS];

#ifdef REPLACED
int counts[FORMS];
#define HAS(form) (REPLACED >> (form) & 1)

static const uint64_t mark = 0x7261636b65722121;
static void *with_header(std::size_t n, std::size_t alignment)
{
    void *base = nullptr;
    std::size_t before = alignment > 16 ? alignment : 16;
    if (alignment > 16 ? posix_memalign(&base, alignment, n + before) != 0 : !(base = std::malloc(n + before)))
        throw std::bad_alloc();
    char *block = static_cast<char *>(base) + before;
    std::memcpy(block - 16, &mark, 8);
    std::memcpy(block - 8, &before, 8);
    return block;
}
static void without_header(void *block)
{
    if (!block)
        return;
    uint64_t found, before;
    std::memcpy(&found, static_cast<char *>(block) - 16, 8);
    std::memcpy(&before, static_cast<char *>(block) - 8, 8);
    if (found != mark) {
        std::fprintf(stderr, "a block without a header\n");
        std::abort();
    }
    std::memset(static_cast<char *>(block) - 16, 0, 16);
    std::free(static_cast<char *>(block) - before);
}

#if HAS(N)
void *operator new(std::size_t n) { counts[N]++; return with_header(n, 0); }
void operator delete(void *p) noexcept { counts[D]++; without_header(p); }
#endif
#if HAS(NA)
void *operator new[](std::size_t n) { counts[NA]++; return ::operator new(n); }
#endif
#if HAS(NN)
void *operator new(std::size_t n, const std::nothrow_t &) noexcept { counts[NN]++; try { return ::operator new(n); } catch (...) { return nullptr; } }
#endif
#if HAS(NAN)
void *operator new[](std::size_t n, const std::nothrow_t &) noexcept { counts[NAN]++; try { return ::operator new[](n); } catch (...) { return nullptr; } }
#endif
#if HAS(DA)
void operator delete[](void *p) noexcept { counts[DA]++; ::operator delete(p); }
#endif
#if HAS(DS)
void operator delete(void *p, std::size_t) noexcept { counts[DS]++; ::operator delete(p); }
#endif
#if HAS(DAS)
void operator delete[](void *p, std::size_t) noexcept { counts[DAS]++; ::operator delete[](p); }
#endif
#if HAS(DN)
void operator delete(void *p, const std::nothrow_t &) noexcept { counts[DN]++; ::operator delete(p); }
#endif
#if HAS(DAN)
void operator delete[](void *p, const std::nothrow_t &) noexcept { counts[DAN]++; ::operator delete[](p); }
#endif
#if ALIGNED
#if HAS(NL)
void *operator new(std::size_t n AL al) { counts[NL]++; return with_header(n, std::size_t(al)); }
void operator delete(void *p AL) noexcept { counts[DL]++; without_header(p); }
#endif
#if HAS(NAL)
void *operator new[](std::size_t n AL al) { counts[NAL]++; return ::operator new(n, al); }
#endif
#if HAS(NLN)
void *operator new(std::size_t n AL al, const std::nothrow_t &) noexcept { counts[NLN]++; try { return ::operator new(n, al); } catch (...) { return nullptr; } }
#endif
#if HAS(NALN)
void *operator new[](std::size_t n AL al, const std::nothrow_t &) noexcept { counts[NALN]++; try { return ::operator new[](n, al); } catch (...) { return nullptr; } }
#endif
#if HAS(DAL)
void operator delete[](void *p AL al) noexcept { counts[DAL]++; ::operator delete(p, al); }
#endif
#if HAS(DSL)
void operator delete(void *p, std::size_t AL al) noexcept { counts[DSL]++; ::operator delete(p, al); }
#endif
#if HAS(DASL)
void operator delete[](void *p, std::size_t AL al) noexcept { counts[DASL]++; ::operator delete[](p, al); }
#endif
#if HAS(DLN)
void operator delete(void *p AL al, const std::nothrow_t &) noexcept { counts[DLN]++; ::operator delete(p, al); }
#endif
#if HAS(DALN)
void operator delete[](void *p AL al, const std::nothrow_t &) noexcept { counts[DALN]++; ::operator delete[](p, al); }
#endif
#endif
#endif // REPLACED

#ifdef MAIN
static void *volatile kept;

// Of each form of new: 12 blocks, each freed by another form of delete that fits, but for two.
static void *make(int form, std::size_t n)
{
    switch (form) {
    case N: return ::operator new(n);
    case NA: return ::operator new[](n);
    case NN: return ::operator new(n, std::nothrow);
    case NAN: return ::operator new[](n, std::nothrow);
#if ALIGNED
    case NL: return ::operator new(n, std::align_val_t(64));
    case NAL: return ::operator new[](n, std::align_val_t(64));
    case NLN: return ::operator new(n, std::align_val_t(64), std::nothrow);
    case NALN: return ::operator new[](n, std::align_val_t(64), std::nothrow);
#endif
    default: return nullptr;
    }
}
static void drop(int form, void *p, std::size_t n)
{
    switch (form) {
    case D: ::operator delete(p); break;
    case DA: ::operator delete[](p); break;
    case DS: ::operator delete(p, n); break;
    case DAS: ::operator delete[](p, n); break;
    case DN: ::operator delete(p, std::nothrow); break;
    case DAN: ::operator delete[](p, std::nothrow); break;
#if ALIGNED
    case DL: ::operator delete(p, std::align_val_t(64)); break;
    case DAL: ::operator delete[](p, std::align_val_t(64)); break;
    case DSL: ::operator delete(p, n, std::align_val_t(64)); break;
    case DASL: ::operator delete[](p, n, std::align_val_t(64)); break;
    case DLN: ::operator delete(p, std::align_val_t(64), std::nothrow); break;
    case DALN: ::operator delete[](p, std::align_val_t(64), std::nothrow); break;
#endif
    default: break;
    }
}
struct thing {
    char bytes[600];
    ~thing() { bytes[0] = 0; }
};

int main(int argc, char **)
{
    static const int pairs[][3] = {{N, D, DS}, {NN, DN, D}, {NA, DA, DAS}, {NAN, DAN, DA},
                                   {NL, DL, DSL}, {NLN, DLN, DL}, {NAL, DAL, DASL}, {NALN, DALN, DAL}};
    int n_pairs = ALIGNED ? 8 : 4;
    for (int i = 0; i < n_pairs; i++)
        for (int k = 0; k < 12; k++) {
            std::size_t size = 2000 + 100 * std::size_t(i);
            kept = make(pairs[i][0], size);
            if (k < 10)
                drop(pairs[i][1 + k % 2], kept, size);
        }
    kept = new thing;
    delete static_cast<thing *>(kept);
    kept = new thing[3];
    delete[] static_cast<thing *>(kept);
    // No memory: bad_alloc or NULL, by the same forms as ever.
    int thrown = 0;
    for (int i = 0; i < n_pairs; i++) {
        try {
            if (!make(pairs[i][0], SIZE_MAX / 2 + std::size_t(argc)))
                thrown += 100;
        } catch (const std::bad_alloc &) {
            thrown++;
        }
    }
    for (int i = 0; i < FORMS; i++)
        std::printf("%d ", counts[i]);
    std::printf("thrown %d\n", thrown);
    std::fflush(stdout);
    return 0;
}
#endif
