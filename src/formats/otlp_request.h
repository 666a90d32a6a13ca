/* SPDX-License-Identifier: MIT */
/* A request of OTLP with a resource of the caller's words. */
#ifndef CAIRN_FORMATS_OTLP_REQUEST_H
#define CAIRN_FORMATS_OTLP_REQUEST_H

#include <cairn/profile.h>

/* Attributes of the resource; borrowed. They replace what the profile itself says under the key. */
struct cairn_otlp_resource_rows {
    const struct cairn_otlp_resource_row {
        const char *key, *value;
    } * rows;
    size_t n;
};

/* The whole request, not packed. */
int cairn_otlp_write(const struct cairn_profile *profile,
                     const struct cairn_otlp_resource_rows *resource, cairn_write_fn write,
                     void *ctx, struct cairn_err *err);

#endif /* CAIRN_FORMATS_OTLP_REQUEST_H */
