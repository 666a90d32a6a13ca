/* SPDX-License-Identifier: MIT */
/*
 * Stream push: walked frames become a stack of a profile, from the root on. Each address is looked
 * up in the mappings once.
 */
#ifndef CAIRN_STREAM_PUSH_H
#define CAIRN_STREAM_PUSH_H

#include "base/address.h"
#include "stream/space.h"

/* One frame of a walked stack. Its bytes have no gaps, so that equal frames are equal bytes. */
struct cairn_stream_frame {
    uint64_t va;     /* as it was caught: exact, or a return address */
    uint32_t number; /* a frame of the profile that has lines and no address; 0: `va` counts */
    uint8_t what;    /* enum cairn_frame_what */
    uint8_t how;     /* enum cairn_frame_how */
    bool exact;
    bool own; /* native code of an interpreter, whose frames are on the stack, too */
};

/* The address to look up. A call that is the last instruction of a mapping returns behind it. */
static inline uint64_t cairn_stream_lookup(const struct cairn_stream_frame *frame)
{
    return cairn_lookup_address(frame->va,
                                frame->exact ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN);
}

/* Where frames go to. */
struct cairn_stream_sink {
    struct cairn_profile *profile;
    /* The module of a mapping that has none yet; UINT32_MAX: memory is gone. */
    uint32_t (*module)(void *ctx, struct cairn_stream_map *map);
    void *ctx;
};

/* The functions below put frames onto `*stack`, which is as far as they came. False: memory is
 * gone, or the profile takes no more. */

/* The user side; `frames` is innermost first. `space` NULL: nothing is known of the process. */
bool cairn_stream_push(const struct cairn_stream_sink *to, const struct cairn_stream_space *space,
                       const struct cairn_stream_frame *frames, size_t n, uint32_t *stack);

/* One address of the kernel. `name`, a text, is its function; 0: unknown. */
bool cairn_stream_push_kernel(struct cairn_profile *profile, uint64_t va, bool is_exact,
                              uint32_t module, uint32_t name, uint32_t *stack);

/* The numbers of frames, for who keeps them one by one: of the user side, of the kernel, and of no
 * address but this function's name. UINT32_MAX: as above. */
uint32_t cairn_stream_frame_number(const struct cairn_stream_sink *to,
                                   const struct cairn_stream_space *space,
                                   const struct cairn_stream_frame *frame);
uint32_t cairn_stream_kernel_frame(struct cairn_profile *profile, uint64_t va, bool is_exact,
                                   uint32_t module, uint32_t name);
uint32_t cairn_stream_named_frame(struct cairn_profile *profile, const char *name);

/* Makes the program's own module the first of the profile, as pprof wants it. */
bool cairn_stream_add_program(const struct cairn_stream_sink *to,
                              const struct cairn_stream_space *space);

#endif /* CAIRN_STREAM_PUSH_H */
