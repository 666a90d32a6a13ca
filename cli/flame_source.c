/* SPDX-License-Identifier: MIT */
#include "cli/flame_source.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/open.h"

enum { FILE_BYTES_MAX = 32 << 20 }; /* more is no source that anybody reads */

void cli_flame_source_done(struct cli_flame_source *source)
{
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

/* A regular file below the folder, which no link leaves. -1: there is none. */
static int open_below(const char *folder, const char *path)
{
    int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int place = root < 0 ? -1 : cairn_open_place_in(root, path, 0);
    int fd = place < 0 ? -1 : cairn_open_again(place, NULL, O_RDONLY);
    if (root >= 0)
        close(root);
    if (place >= 0)
        close(place);
    return fd;
}

static bool read_file(const char *folder, const char *path, struct cairn_buffer *ret_text)
{
    struct stat st;
    int fd = open_below(folder, path);
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size <= FILE_BYTES_MAX;
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
    while (at && !found) {
        found = read_file(source->folder, at, &source->text);
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
