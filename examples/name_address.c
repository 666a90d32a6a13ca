/* SPDX-License-Identifier: MIT */
/* Names an address of a running process, here its own: the mapping that holds it, the module's ELF
 * address of that place, the function and line there.
 * cc -g name_address.c $(pkg-config --cflags --libs cairn) */
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cairn/maps.h>
#include <cairn/symbolizer.h>

int main(void)
{
    uint64_t ip = (uint64_t)(uintptr_t)main, vaddr = 0;
    struct cairn_maps *maps = NULL;
    struct cairn_symbolizer *symbolizer = NULL;
    struct cairn_module *module = NULL;
    struct cairn_symbol symbol = {CAIRN_SYMBOL_OUTSIDE, 0, NULL};
    struct cairn_err err = {CAIRN_OK, 0, "this address has no name", ""};
    const struct cairn_map *map = NULL;
    if (cairn_maps_read_pid((int)getpid(), &maps, &err) == CAIRN_OK)
        map = cairn_maps_find(maps, ip);
    if (map && cairn_symbolizer_new(NULL, &symbolizer, &err) == CAIRN_OK &&
        cairn_symbolizer_open(symbolizer, map->path, NULL, &module, &err) == CAIRN_OK &&
        cairn_module_vaddr_of_offset(module, map->off + (ip - map->start), &vaddr))
        cairn_symbolize(symbolizer, module, vaddr, &symbol, &err);
    if (symbol.state == CAIRN_SYMBOL_NAMED)
        printf("%s at %s:%u\n", symbol.frames->function,
               symbol.frames->file ? symbol.frames->file : "?", (unsigned)symbol.frames->line);
    else
        fprintf(stderr, "name_address: %s\n", err.msg);
    cairn_symbolizer_free(symbolizer);
    cairn_maps_free(maps);
    return symbol.state != CAIRN_SYMBOL_NAMED;
}
