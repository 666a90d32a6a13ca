/* SPDX-License-Identifier: MIT */
/* Names addresses of a program or library: function, file:line, and what it was inlined into.
 * cc -g symbolize.c $(pkg-config --cflags --libs cairn-symbolize); ./a.out FILE ADDRESS... */
#include <stdio.h>
#include <stdlib.h>

#include <cairn/symbolizer.h>

static int print(void *ctx, size_t index, const struct cairn_symbol *symbol)
{
    char **texts = ctx;
    if (!symbol->n_frames)
        printf("%s %s\n", texts[index], cairn_symbol_state_text(symbol->state));
    for (uint32_t i = 0; i < symbol->n_frames; i++) {
        const struct cairn_symbol_frame *f = &symbol->frames[i];
        printf("%s %s at %s:%u%s\n", texts[index], f->function ? f->function : "??",
               f->file ? f->file : "??", (unsigned)f->line, f->inlined ? ", inlined by" : "");
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct cairn_symbolizer_opts opts = {sizeof opts, .use_cache = 1};
    struct cairn_symbolizer *symbolizer = NULL;
    struct cairn_module *module = NULL;
    struct cairn_err err = {CAIRN_E_ARG, 0, "usage: symbolize FILE ADDRESS...", ""};
    size_t n = argc > 2 ? (size_t)argc - 2 : 0;
    uint64_t *vaddrs = calloc(n + 1, sizeof *vaddrs);
    for (size_t i = 0; i < n && vaddrs; i++)
        vaddrs[i] = strtoull(argv[i + 2], NULL, 16);
    if (!n || !vaddrs || cairn_symbolizer_new(&opts, &symbolizer, &err) ||
        cairn_symbolizer_open_file(symbolizer, argv[1], &module, &err) ||
        cairn_symbolize_batch(symbolizer, module, vaddrs, n, print, argv + 2, &err))
        fprintf(stderr, "symbolize: %s\n", err.msg);
    cairn_symbolizer_free(symbolizer);
    free(vaddrs);
    return module == NULL;
}
