/* SPDX-License-Identifier: MIT */
#include "cli/flame_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_BYTES_MAX = 32 << 20 }; /* more is no source that anybody reads */

void cli_flame_source_done(struct cli_flame_source *source)
{
    cairn_buffer_done(&source->path);
    cairn_buffer_done(&source->text);
}

void cli_flame_source_tidy(struct cairn_buffer *b, const char *file)
{
    size_t begin = b->size;
    while (*file && !b->failed) {
        size_t size = strcspn(file, "/");
        bool is_up = size == 2 && memcmp(file, "..", 2) == 0;
        if (is_up && b->size == begin)
            break;
        if (is_up) {
            while (b->size > begin && b->data[--b->size] != '/')
                ;
        } else if (size && !(size == 1 && *file == '.')) {
            cairn_buffer_str(b, b->size > begin ? "/" : "");
            cairn_buffer_add(b, file, size);
        }
        file += size;
        while (*file == '/')
            file++;
    }
    cairn_buffer_add(b, "", 0); /* the NUL may stand behind what was taken back */
}

/* Where what is open lies in truth: a link may lead anywhere. */
static bool is_below(const char *folder, int fd)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    char *root = realpath(folder, NULL), *file = realpath(link, NULL);
    size_t size = root ? strlen(root) : 0;
    bool below = root && file && strncmp(file, root, size) == 0 &&
                 (file[size] == '/' || strcmp(root, "/") == 0);
    free(root);
    free(file);
    return below;
}

/* Nothing but plain files: opening a pipe would wait. */
static bool read_file(const char *folder, const char *path, struct cairn_buffer *ret_text)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              st.st_size <= FILE_BYTES_MAX && is_below(folder, fd);
    ssize_t got = 1;
    cairn_buffer_clear(ret_text);
    while (ok && got > 0 && ret_text->size <= FILE_BYTES_MAX) {
        char piece[16384];
        got = read(fd, piece, sizeof piece);
        if (got > 0)
            cairn_buffer_add(ret_text, piece, (size_t)got);
    }
    if (fd >= 0)
        close(fd);
    return ok && got == 0 && !ret_text->failed;
}

int cli_flame_source_read(void *source_ctx, const char *file, const char **ret_text,
                          size_t *ret_size)
{
    struct cli_flame_source *source = source_ctx;
    struct cairn_buffer tidy = {0};
    bool found = false;
    cli_flame_source_tidy(&tidy, file);
    const char *at = tidy.size ? cairn_buffer_text(&tidy) : NULL;
    while (at && !found && !source->path.failed) {
        cairn_buffer_clear(&source->path);
        cairn_buffer_printf(&source->path, "%s/%s", source->folder, at);
        found = read_file(source->folder, cairn_buffer_text(&source->path), &source->text);
        at = strchr(at, '/');
        at = at ? at + 1 : NULL;
    }
    cairn_buffer_done(&tidy);
    source->n_found += found;
    source->n_missing += !found;
    *ret_text = cairn_buffer_text(&source->text);
    *ret_size = source->text.size;
    return found ? 0 : -1;
}
