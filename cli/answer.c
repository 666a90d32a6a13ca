/* SPDX-License-Identifier: MIT */
#include "cli/answer.h"

#include <string.h>

#include "base/escape.h"
#include "base/function_start.h"
#include "base/json.h"
#include "cli/gnu_text.h"
#include "cli/llvm_json.h"

static void put_escaped(struct cairn_buffer *out, const char *text)
{
    cairn_escape_terminal(out, text, strlen(text));
}

static void put_frame(struct cairn_buffer *out, const struct cairn_symbol_frame *frame)
{
    put_escaped(out, frame->function ? frame->function : "??");
    if (frame->suffix) {
        cairn_buffer_str(out, " [.");
        put_escaped(out, frame->suffix);
        cairn_buffer_char(out, ']');
    }
    if (frame->folded)
        cairn_buffer_str(out, " [folded]");
    if (!frame->file)
        return;
    cairn_buffer_str(out, " at ");
    put_escaped(out, frame->file);
    cairn_buffer_char(out, ':');
    if (frame->line)
        cairn_buffer_u64(out, frame->line);
    else
        cairn_buffer_char(out, '?');
}

static void put_start(struct cairn_buffer *out, const struct cli_answer_form *form)
{
    const char *slash = strrchr(form->file, '/');
    put_escaped(out, slash ? slash + 1 : form->file);
    cairn_function_start_put(out, "", form->start);
}

/* 0x1234: leaf at a.c:3
 *         inlined by main at a.c:9
 * 0x1234: libfoo.so+0x1200 [function] (no symbol) */
static void put_text(struct cairn_buffer *out, const struct cli_answer_form *form, uint64_t address,
                     const struct cairn_symbol *symbol)
{
    static const char inlined[] = "                    inlined by "; /* behind 20 blanks */
    size_t start = out->size;
    cairn_buffer_str(out, "0x");
    cairn_buffer_hex(out, address);
    cairn_buffer_str(out, ": ");
    size_t indent = out->size - start;
    for (uint32_t i = 0; i < symbol->n_frames; i++) {
        if (i)
            cairn_buffer_str(out, inlined + (20 - indent));
        put_frame(out, &symbol->frames[i]);
        if (i + 1 < symbol->n_frames)
            cairn_buffer_char(out, '\n');
    }
    bool shows_start = form->has_start && !symbol->n_frames;
    if (shows_start)
        put_start(out, form);
    if (symbol->state != CAIRN_SYMBOL_NAMED)
        cairn_buffer_printf(out, symbol->n_frames || shows_start ? " (%s)" : "%s",
                            cairn_symbol_state_text(symbol->state));
    cairn_buffer_char(out, '\n');
}

static void put_json_frame(struct cairn_json *json, const struct cairn_symbol_frame *frame)
{
    static const char *const sources[] = {
        [CAIRN_SOURCE_DWARF] = "dwarf",   [CAIRN_SOURCE_SYMTAB] = "symtab",
        [CAIRN_SOURCE_DYNSYM] = "dynsym", [CAIRN_SOURCE_DEBUGDATA] = "debugdata",
        [CAIRN_SOURCE_PLT] = "plt",       [CAIRN_SOURCE_KERNEL] = "kernel",
        [CAIRN_SOURCE_JIT] = "jit",
    };
    cairn_json_open(json, NULL, '{');
    cairn_json_str(json, "function", frame->function);
    cairn_json_str(json, "linkage", frame->linkage);
    cairn_json_str(json, "file", frame->file);
    cairn_json_u64(json, "line", frame->line);
    cairn_json_u64(json, "start_line", frame->start_line);
    cairn_json_bool(json, "inlined", frame->inlined);
    cairn_json_str(json, "source",
                   frame->source <= CAIRN_SOURCE_JIT ? sources[frame->source] : NULL);
    cairn_json_str(json, "suffix", frame->suffix);
    cairn_json_bool(json, "folded", frame->folded);
    cairn_json_close(json, '}');
}

static void put_json(struct cairn_buffer *out, const struct cli_answer_form *form, uint64_t address,
                     const uint64_t *vaddr, const struct cairn_symbol *symbol)
{
    static const char *const states[] = {
        [CAIRN_SYMBOL_NAMED] = "named",
        [CAIRN_SYMBOL_NO_SYMBOL] = "no-symbol",
        [CAIRN_SYMBOL_OUTSIDE] = "outside",
    };
    struct cairn_json json = {.out = out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    cairn_json_hex(&json, "address", address);
    if (vaddr)
        cairn_json_hex(&json, "vaddr", *vaddr);
    else
        cairn_json_str(&json, "vaddr", NULL);
    cairn_json_str(&json, "state", states[symbol->state]);
    if (form->has_start)
        cairn_json_hex(&json, "function_start", form->start_vaddr);
    cairn_json_open(&json, "frames", '[');
    for (uint32_t i = 0; i < symbol->n_frames; i++)
        put_json_frame(&json, &symbol->frames[i]);
    cairn_json_close(&json, ']');
    cairn_json_close(&json, '}');
}

static void put_gnu(struct cairn_buffer *out, const struct cli_answer_form *form,
                    const struct cairn_symbol *symbol)
{
    struct cli_gnu_text text = {.functions = true, .inlines = true, .demangled = form->demangled};
    cli_gnu_text_put(out, &text, symbol);
}

void cli_answer_put(struct cairn_buffer *out, const struct cli_answer_form *form, uint64_t address,
                    const uint64_t *vaddr, const struct cairn_symbol *symbol)
{
    switch (form->style) {
    case CLI_ANSWER_TEXT:
        put_text(out, form, address, symbol);
        return;
    case CLI_ANSWER_JSON:
        put_json(out, form, address, vaddr, symbol);
        return;
    case CLI_ANSWER_GNU:
        put_gnu(out, form, symbol);
        return;
    case CLI_ANSWER_LLVM:
        cli_llvm_json_put(out, form->file, address, symbol);
        return;
    }
}

static void put_malformed_json(struct cairn_buffer *out, const char *text)
{
    struct cairn_json json = {.out = out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    cairn_json_str(&json, "address", text);
    cairn_json_str(&json, "vaddr", NULL);
    cairn_json_str(&json, "state", "malformed");
    cairn_json_open(&json, "frames", '[');
    cairn_json_close(&json, ']');
    cairn_json_close(&json, '}');
}

void cli_answer_put_malformed(struct cairn_buffer *out, const struct cli_answer_form *form,
                              const char *text, size_t size)
{
    struct cairn_buffer cut = {0};
    cairn_buffer_add(&cut, text, size);
    switch (form->style) {
    case CLI_ANSWER_TEXT:
        cairn_escape_terminal(out, text, size);
        cairn_buffer_str(out, ": not an address\n");
        break;
    case CLI_ANSWER_JSON:
        put_malformed_json(out, cairn_buffer_text(&cut));
        break;
    case CLI_ANSWER_GNU:
        put_gnu(out, form, &(struct cairn_symbol){0});
        break;
    case CLI_ANSWER_LLVM:
        cli_llvm_json_put_malformed(out, form->file, cairn_buffer_text(&cut));
        break;
    }
    cairn_buffer_done(&cut);
}
