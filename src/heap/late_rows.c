/* SPDX-License-Identifier: MIT */
/* SIGNAL-SAFE */
/*
 * Late rows: the table of replacements (heap/late.h). In libcairn-track alone.
 */
#include "heap/late_rows.h"

#include "heap/late_originals.h"

/* As the Itanium C++ ABI mangles size_t, 5.1.5.2: unsigned long or unsigned int. */
#ifdef __LP64__
#define SIZE "m"
#else
#define SIZE "j"
#endif
#define ALIGN   "St11align_val_t"
#define NOTHROW "RKSt9nothrow_t"

enum {
    BIRTH = CAIRN_LATE_BIRTH,
    DEATH = CAIRN_LATE_DEATH,
    CPP = CAIRN_LATE_CPP,
    LIBC = CAIRN_LATE_LIBC,
    MODULES = CAIRN_LATE_MODULES,
    NEEDED = CAIRN_LATE_NEEDED,
    LOOKS = CAIRN_LATE_LOOKS
};

/* The replacements' types do not matter here: they are addresses. */
#define ROW(symbol, name, elsewhere, original, roles)                                              \
    {                                                                                              \
        symbol, (void *)cairn_late_##name, elsewhere, NULL, (void **)&(original), roles            \
    }
/* Blocks that move: each caller's are looked at. */
#define MOVES(name, original, roles)                                                               \
    {                                                                                              \
#name, (void *)cairn_late_##name, (void *)cairn_late_##name##_elsewhere,                   \
            (void *)cairn_late_##name##_chosen, (void **)&(original), roles                        \
    }
#define C_REAL(name, roles) ROW(#name, name, NULL, cairn_heap_real.name, roles)
#define C_MORE(name, roles) ROW(#name, name, NULL, cairn_late_more.name, roles)
#define OPERATOR(symbol, name, form, role)                                                         \
    ROW(symbol, name, NULL, cairn_late_more.operators[CAIRN_LATE_##form], role | CPP)
#define NEW(symbol, name, form)    OPERATOR(symbol, name, form, BIRTH)
#define DELETE(symbol, name, form) OPERATOR(symbol, name, form, DEATH)
#define OF_LIBC(symbol, name)      ROW(symbol, name, NULL, cairn_late_more.name, BIRTH | LIBC)

static const struct cairn_late_row rows[] = {
    C_REAL(malloc, BIRTH | NEEDED),
    C_REAL(free, DEATH | NEEDED),
    C_REAL(calloc, BIRTH | NEEDED),
    MOVES(realloc, cairn_heap_real.realloc, BIRTH | DEATH | NEEDED),
    MOVES(reallocarray, cairn_late_more.reallocarray, BIRTH | DEATH),
    C_REAL(posix_memalign, BIRTH),
    C_REAL(aligned_alloc, BIRTH),
    C_REAL(memalign, BIRTH),
    C_REAL(valloc, BIRTH),
    C_REAL(pvalloc, BIRTH),
    C_MORE(free_sized, DEATH),
    C_MORE(free_aligned_sized, DEATH),
    C_MORE(cfree, DEATH),
    NEW("_Znw" SIZE, new, NEW),
    NEW("_Zna" SIZE, new_array, NEW_ARRAY),
    NEW("_Znw" SIZE NOTHROW, new_nothrow, NEW_NOTHROW),
    NEW("_Zna" SIZE NOTHROW, new_array_nothrow, NEW_ARRAY_NOTHROW),
    NEW("_Znw" SIZE ALIGN, new_aligned, NEW_ALIGNED),
    NEW("_Zna" SIZE ALIGN, new_array_aligned, NEW_ARRAY_ALIGNED),
    NEW("_Znw" SIZE ALIGN NOTHROW, new_aligned_nothrow, NEW_ALIGNED_NOTHROW),
    NEW("_Zna" SIZE ALIGN NOTHROW, new_array_aligned_nothrow, NEW_ARRAY_ALIGNED_NOTHROW),
    DELETE("_ZdlPv", delete, DELETE),
    DELETE("_ZdaPv", delete_array, DELETE_ARRAY),
    DELETE("_ZdlPv" SIZE, delete_sized, DELETE_SIZED),
    DELETE("_ZdaPv" SIZE, delete_array_sized, DELETE_ARRAY_SIZED),
    DELETE("_ZdlPv" NOTHROW, delete_nothrow, DELETE_NOTHROW),
    DELETE("_ZdaPv" NOTHROW, delete_array_nothrow, DELETE_ARRAY_NOTHROW),
    DELETE("_ZdlPv" ALIGN, delete_aligned, DELETE_ALIGNED),
    DELETE("_ZdaPv" ALIGN, delete_array_aligned, DELETE_ARRAY_ALIGNED),
    DELETE("_ZdlPv" SIZE ALIGN, delete_sized_aligned, DELETE_SIZED_ALIGNED),
    DELETE("_ZdaPv" SIZE ALIGN, delete_array_sized_aligned, DELETE_ARRAY_SIZED_ALIGNED),
    DELETE("_ZdlPv" ALIGN NOTHROW, delete_aligned_nothrow, DELETE_ALIGNED_NOTHROW),
    DELETE("_ZdaPv" ALIGN NOTHROW, delete_array_aligned_nothrow, DELETE_ARRAY_ALIGNED_NOTHROW),
    C_MORE(dlclose, MODULES),
    ROW("__cxa_finalize", cxa_finalize, NULL, cairn_late_more.cxa_finalize, MODULES),
    C_MORE(dlsym, LOOKS),
    C_MORE(dlvsym, LOOKS),
    OF_LIBC("strdup", strdup),
    OF_LIBC("__strdup", strdup),
    OF_LIBC("strndup", strndup),
    OF_LIBC("__strndup", strndup),
    OF_LIBC("wcsdup", wcsdup),
    OF_LIBC("getline", getline),
    OF_LIBC("getdelim", getdelim),
    OF_LIBC("__getdelim", getdelim),
    OF_LIBC("vasprintf", vasprintf),
    OF_LIBC("asprintf", asprintf),
    OF_LIBC("__asprintf_chk", asprintf_chk),
    OF_LIBC("__vasprintf_chk", vasprintf_chk),
    OF_LIBC("realpath", realpath),
    OF_LIBC("__realpath_chk", realpath_chk),
    OF_LIBC("canonicalize_file_name", canonicalize),
    OF_LIBC("getcwd", getcwd),
    OF_LIBC("__getcwd_chk", getcwd_chk),
    OF_LIBC("get_current_dir_name", current_dir),
    OF_LIBC("open_memstream", open_memstream),
    OF_LIBC("open_wmemstream", open_wmemstream),
    OF_LIBC("fclose", fclose),
};

const struct cairn_late_row *cairn_late_row(uint32_t i)
{
    return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}

CAIRN_API const struct cairn_late cairn_late = {
    .version = CAIRN_LATE_VERSION,
    .size = sizeof(cairn_late),
    .rows = rows,
    .n_rows = sizeof(rows) / sizeof(rows[0]),
    .row_bytes = sizeof(rows[0]),
    .start = cairn_late_start,
    .record = cairn_late_record,
    .end = cairn_late_end,
    .state = cairn_late_state,
    .older = cairn_late_older,
    .slots = cairn_late_slots,
};
