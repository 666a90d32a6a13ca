/* SPDX-License-Identifier: MIT */
#include "kinds.h"

#include <cairn/unwind.h>

enum { MAX_KINDS = 512 };

static struct {
    struct kind kinds[MAX_KINDS];
    unsigned n, lost;
} all;

static bool is_same_kind(const struct kind *a, const struct kind *b)
{
    return a->at == b->at && a->class == b->class && a->guess == b->guess &&
           a->is_code == b->is_code && a->covered == b->covered && a->place == b->place &&
           a->how == b->how && a->end == b->end && a->theirs_more == b->theirs_more &&
           a->status == b->status && a->own[0] == b->own[0] && a->own[1] == b->own[1];
}

struct kind *kinds_count(const struct kind *found)
{
    unsigned i = 0;
    while (i < all.n && !is_same_kind(&all.kinds[i], found))
        i++;
    if (i == MAX_KINDS) {
        all.lost++;
        return NULL;
    }
    if (i == all.n)
        all.kinds[all.n++] = *found;
    all.kinds[i].n++;
    return &all.kinds[i];
}

unsigned kinds_lost(void)
{
    return all.lost;
}

void kinds_print_back(FILE *out, const unsigned *back)
{
    fprintf(out, "back %u %u %u %u", back[RETURNED_FIRST], back[RETURNED_SECOND],
            back[RETURNED_OPEN], back[NOT_ASKED]);
}

static void print_kind(FILE *out, const struct kind *kind)
{
    static const char *const class_names[] = {"exact", "guess", "end"};
    fprintf(out, "%u %s", kind->n, class_names[kind->class]);
    if (kind->class == GUESS)
        fprintf(out, " (%s)", cairn_frame_how_text(kind->guess));
    fprintf(out, ": cairn ");
    if (kind->how >= 0)
        fprintf(out, "goes on by %s to", cairn_frame_how_text(kind->how));
    else
        fprintf(out, "ends (%s)", cairn_unwind_end_text(kind->end));
    if (kind->how >= 0)
        place_print(out, kind->our_next);
    fprintf(out, " | libunwind ");
    if (kind->theirs_more)
        fprintf(out, "goes on to%s", kind->is_code ? "" : " no code:");
    else
        fprintf(out, "ends (%d)", kind->status);
    if (kind->theirs_more)
        place_print(out, kind->their_next);
    fprintf(out, " | own %d %d | ", kind->own[0], kind->own[1]);
    kinds_print_back(out, kind->back);
    fprintf(out, " | at");
    place_print(out, kind->at);
    fprintf(out, " | %s", kind->covered ? "covered" : "not covered in ");
    if (!kind->covered)
        place_print_kind(out, kind->place, kind->place == PLACE_FILE ? kind->bare : 0);
    fprintf(out, " | leaf");
    place_print(out, kind->from);
    fprintf(out, "\n");
}

void kinds_print(FILE *out)
{
    for (unsigned i = 0; i < all.n; i++)
        print_kind(out, &all.kinds[i]);
}
