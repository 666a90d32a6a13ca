/* SPDX-License-Identifier: MIT */
/* Cleanup by scope, for .c files only: CAIRN_AUTO(free_fn) type variable = ...; */
#ifndef CAIRN_BASE_CLEANUP_H
#define CAIRN_BASE_CLEANUP_H

#define CAIRN_AUTO(done) __attribute__((cleanup(done)))

/* Hands a pointer out of a scope that would free it. */
#define CAIRN_TAKE(pointer)                                                                        \
    __extension__({                                                                                \
        __typeof__(pointer) taken_ = (pointer);                                                    \
        (pointer) = NULL;                                                                          \
        taken_;                                                                                    \
    })

#endif /* CAIRN_BASE_CLEANUP_H */
