/* SPDX-License-Identifier: MIT */
#include "cli/llvm_json.h"

#include "base/json.h"

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static void put_frame(struct cairn_json *json, const struct cairn_symbol_frame *frame)
{
    cairn_json_open(json, NULL, '{');
    cairn_json_u64(json, "Column", 0);
    cairn_json_u64(json, "Discriminator", frame->discriminator);
    cairn_json_str(json, "FileName", text_of(frame->file));
    cairn_json_str(json, "FunctionName", text_of(frame->function));
    cairn_json_u64(json, "Line", frame->line);
    cairn_json_str(json, "StartAddress", "");
    cairn_json_str(json, "StartFileName", "");
    cairn_json_u64(json, "StartLine", frame->start_line);
    cairn_json_close(json, '}');
}

/* The writer ends a document with a line break; whoever makes a list of them wants none. */
static void close_document(struct cairn_json *json)
{
    cairn_json_close(json, '}');
    if (json->out->size && !json->out->failed)
        json->out->data[--json->out->size] = '\0';
}

void cli_llvm_json_put(struct cairn_buffer *out, const char *module, uint64_t address,
                       const struct cairn_symbol *symbol)
{
    static const struct cairn_symbol_frame nothing;
    struct cairn_json json = {.out = out, .compact = true};
    cairn_json_open(&json, NULL, '{');
    cairn_json_hex(&json, "Address", address);
    cairn_json_str(&json, "ModuleName", module);
    cairn_json_open(&json, "Symbol", '[');
    for (uint32_t i = 0; i < symbol->n_frames; i++)
        put_frame(&json, &symbol->frames[i]);
    if (!symbol->n_frames)
        put_frame(&json, &nothing);
    cairn_json_close(&json, ']');
    close_document(&json);
}

void cli_llvm_json_put_malformed(struct cairn_buffer *out, const char *module, const char *text)
{
    struct cairn_buffer message = {0};
    struct cairn_json json = {.out = out, .compact = true};
    cairn_buffer_printf(&message, "unable to parse arguments: %s", text);
    cairn_json_open(&json, NULL, '{');
    cairn_json_open(&json, "Error", '{');
    cairn_json_str(&json, "Message", cairn_buffer_text(&message));
    cairn_json_close(&json, '}');
    cairn_json_str(&json, "ModuleName", module);
    close_document(&json);
    cairn_buffer_done(&message);
}
