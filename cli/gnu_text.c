/* SPDX-License-Identifier: MIT */
#include "cli/gnu_text.h"

#include <string.h>

#include "base/escape.h"

static void put_escaped(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

/* "part.0.cold" as libiberty writes it behind a demangled name: [clone .part.0] [clone .cold] */
static void put_clones(struct cairn_buffer *out, const char *suffix)
{
    while (*suffix) {
        size_t size = strcspn(suffix, ".");
        while (suffix[size] == '.' && suffix[size + 1] >= '0' && suffix[size + 1] <= '9')
            size += 1 + strcspn(suffix + size + 1, ".");
        cairn_buffer_str(out, " [clone .");
        cairn_escape_terminal(out, suffix, size);
        cairn_buffer_char(out, ']');
        suffix += size + (suffix[size] == '.');
    }
}

/* GNU prints what the compiler hung behind a name where the name is that of the symbol, and hides
 * it where DWARF knows the function. */
static void put_function(struct cairn_buffer *out, const struct cli_gnu_text *form,
                         const struct cairn_symbol_frame *frame)
{
    const char *linkage = frame->linkage ? frame->linkage : frame->function;
    const char *name = form->demangled ? frame->function : linkage;
    put_escaped(out, name && *name ? name : "??");
    if (!frame->suffix || !name || frame->source == CAIRN_SOURCE_DWARF)
        return;
    if (form->demangled && strcmp(name, linkage) != 0) {
        put_clones(out, frame->suffix);
    } else {
        cairn_buffer_char(out, '.');
        put_escaped(out, frame->suffix);
    }
}

/* GNU knows the discriminator of the innermost frame, and prints it behind all of them. */
static void put_place(struct cairn_buffer *out, const struct cli_gnu_text *form,
                      const struct cairn_symbol_frame *frame, uint32_t discriminator)
{
    const char *file = frame->file ? frame->file : "??";
    const char *slash = form->basenames ? strrchr(file, '/') : NULL;
    put_escaped(out, slash ? slash + 1 : file);
    cairn_buffer_char(out, ':');
    if (frame->line)
        cairn_buffer_u64(out, frame->line);
    else
        cairn_buffer_char(out, '?');
    if (frame->line && discriminator)
        cairn_buffer_printf(out, " (discriminator %u)", (unsigned)discriminator);
    cairn_buffer_char(out, '\n');
}

void cli_gnu_text_put(struct cairn_buffer *out, const struct cli_gnu_text *form,
                      const struct cairn_symbol *symbol)
{
    if (!symbol->n_frames) {
        if (form->functions)
            cairn_buffer_str(out, form->pretty ? "?? " : "??\n");
        cairn_buffer_str(out, "??:0\n");
        return;
    }
    uint32_t n = form->inlines ? symbol->n_frames : 1;
    for (uint32_t i = 0; i < n; i++) {
        if (i && form->pretty)
            cairn_buffer_str(out, " (inlined by) ");
        if (form->functions) {
            put_function(out, form, &symbol->frames[i]);
            cairn_buffer_str(out, form->pretty ? " at " : "\n");
        }
        put_place(out, form, &symbol->frames[i], symbol->frames->discriminator);
    }
}
