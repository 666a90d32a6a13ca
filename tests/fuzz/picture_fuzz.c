/* SPDX-License-Identifier: MIT */
/* Whatever a reader of profiles lets through, both pictures can be drawn of it, and names of it
 * bring no markup. */
#include <stdlib.h>
#include <string.h>

#include <cairn/picture.h>

struct input {
    const uint8_t *data;
    size_t size, at;
};

static long take(void *ctx, void *buf, size_t size)
{
    struct input *input = ctx;
    size_t left = input->size - input->at, n = left < size ? left : size;
    if (n)
        memcpy(buf, input->data + input->at, n);
    input->at += n;
    return (long)n;
}

/* Looks for what only a name could have brought; a needle may lie across two pieces, which the many
 * inputs make up for. */
static int look_for_markup(void *ctx, const void *bytes, size_t size)
{
    (void)ctx;
    if (memmem(bytes, size, "<hostile", 8))
        abort();
    return 0;
}

/* Every file is there, and hostile, too. */
static int find_source(void *ctx, const char *file, const char **ret_text, size_t *ret_size)
{
    static const char text[] = "<hostile>\n\tline\n\n</script>\n";
    (void)ctx;
    (void)file;
    *ret_text = text;
    *ret_size = sizeof text - 1;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size, 0};
    struct cairn_profile *profile;
    struct cairn_err err;
    if (cairn_profile_read(take, &input, CAIRN_FORMAT_AUTO, &profile, &err) < 0)
        return 0;
    struct cairn_picture_opts opts = {
        .size = sizeof opts, .title = "<hostile>", .subtitle = "<hostile>", .source = find_source};
    for (int format = CAIRN_PICTURE_HTML; format <= CAIRN_PICTURE_SVG; format++)
        if (cairn_picture_write(profile, (enum cairn_picture_format)format, &opts, look_for_markup,
                                NULL, &err) < 0)
            abort();
    cairn_profile_free(profile);
    return 0;
}
