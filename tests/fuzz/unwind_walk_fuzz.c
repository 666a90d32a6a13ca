/* SPDX-License-Identifier: MIT */
/*
 * A walk over a stack and registers that anybody may have written, by the rules of a real program:
 * this one's own file.
 *
 *     | 4 words: ip, sp, frame pointer, all other registers | the stack, from STACK on |
 *
 * Each word is 8 bytes, little-endian. Its top byte says what it stands for: 1 an address in the
 * program's code, 2 one on the stack, anything else itself.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cairn/error.h>
#include <cairn/maps.h>
#include <cairn/unwind.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STACK_BYTES = 65536, HEAD_WORDS = 4 };
static const uint64_t BIAS = 0x10000000, STACK = 0x70000000; /* within 32 bits, for arm */

static struct {
    const uint8_t *bytes;
    size_t size;
    const ElfW(Phdr) * headers;
    unsigned n_headers;
    const ElfW(Phdr) * text;
} program;

static uint8_t stack[STACK_BYTES];
static size_t stack_size;

static void hold(bool sound)
{
    if (!sound)
        __builtin_trap();
}

static const ElfW(Phdr) * segment_at(uint64_t va)
{
    for (unsigned i = 0; i < program.n_headers; i++) {
        const ElfW(Phdr) *header = &program.headers[i];
        if (header->p_type == PT_LOAD && va - BIAS - header->p_vaddr < header->p_filesz)
            return header;
    }
    return NULL;
}

static int read_memory(void *ctx, uint64_t va, void *to, size_t size)
{
    (void)ctx;
    if (va - STACK < stack_size && size <= stack_size - (va - STACK)) {
        memcpy(to, stack + (va - STACK), size);
        return 0;
    }
    const ElfW(Phdr) *segment = segment_at(va);
    const uint64_t into = segment ? va - BIAS - segment->p_vaddr : 0;
    if (!segment || size > segment->p_filesz - into)
        return -1;
    memcpy(to, program.bytes + segment->p_offset + into, size);
    return 0;
}

static int find(void *ctx, uint64_t va, struct cairn_unwind_region *ret)
{
    (void)ctx;
    const ElfW(Phdr) *segment = segment_at(va);
    if (!segment)
        return -1;
    const uint64_t page = segment->p_vaddr & 4095;
    *ret = (struct cairn_unwind_region){.start = BIAS + segment->p_vaddr - page,
                                        .end = BIAS + segment->p_vaddr + segment->p_filesz,
                                        .off = segment->p_offset - page,
                                        .flags = CAIRN_MAP_EXEC | CAIRN_MAP_READ,
                                        .path = "program",
                                        .file = program.bytes,
                                        .file_size = program.size};
    return 0;
}

static void open_program(void)
{
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    hold(fd >= 0 && fstat(fd, &about) == 0);
    program.size = (size_t)about.st_size;
    void *bytes = mmap(NULL, program.size, PROT_READ, MAP_PRIVATE, fd, 0);
    hold(bytes != MAP_FAILED);
    close(fd);
    program.bytes = bytes;
    const ElfW(Ehdr) *header = bytes;
    program.headers = (const void *)(program.bytes + header->e_phoff);
    program.n_headers = header->e_phnum;
    for (unsigned i = 0; i < program.n_headers; i++)
        if (program.headers[i].p_type == PT_LOAD && program.headers[i].p_flags & PF_X)
            program.text = &program.headers[i];
    hold(program.text);
}

static uint64_t meant(uint64_t word)
{
    const uint64_t low = word & 0xffffffffffffff;
    switch (word >> 56) {
    case 1:
        return BIAS + program.text->p_vaddr + low % program.text->p_filesz;
    case 2:
        return STACK + low % STACK_BYTES;
    default:
        return word;
    }
}

static void put_stack(const uint8_t *data, size_t size)
{
    const size_t width = sizeof(void *);
    for (stack_size = 0; size >= 8 && stack_size < STACK_BYTES; data += 8, size -= 8) {
        uint64_t word;
        memcpy(&word, data, 8);
        word = meant(word);
        memcpy(stack + stack_size, &word, width); /* little-endian machines alone */
        stack_size += width;
    }
}

static void walk(struct cairn_unwind_space *space, const uint64_t head[HEAD_WORDS])
{
    const ElfW(Ehdr) *header = (const void *)program.bytes;
    struct cairn_cursor_regs regs = {.machine = header->e_machine, .ip = head[0]};
    const bool is_arm = header->e_machine == EM_ARM, is_x86 = header->e_machine == EM_X86_64;
    const unsigned n = is_arm || is_x86 ? 16 : 32;
    const unsigned sp = is_arm ? 13 : is_x86 ? 7 : 31, fp = is_arm ? 11 : is_x86 ? 6 : 29;
    for (unsigned i = 0; i < n; i++)
        regs.reg[i] = i == sp ? head[1] : i == fp ? head[2] : head[3];
    regs.known = (UINT64_C(1) << n) - 1;
    struct cairn_cursor cursor;
    if (cairn_cursor_init(&cursor, space, &regs, NULL) != CAIRN_OK)
        return;
    unsigned n_frames = 1;
    struct cairn_cursor_frame frame;
    cairn_cursor_frame(&cursor, &frame);
    while (cairn_cursor_step(&cursor)) {
        cairn_cursor_frame(&cursor, &frame);
        hold(strcmp(cairn_frame_how_text((int)frame.how), "?") != 0);
        hold(++n_frames <= CAIRN_MAX_FRAMES);
    }
    hold(strcmp(cairn_unwind_end_text((int)cairn_cursor_end(&cursor)), "?") != 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cairn_unwind_space *space;
    if (!space) {
        open_program();
        const struct cairn_unwind_accessors accessors = {
            .size = sizeof accessors, .read = read_memory, .find = find};
        hold(cairn_unwind_space_new(&accessors, &space, NULL) == CAIRN_OK);
    }
    uint64_t head[HEAD_WORDS];
    if (size < sizeof head)
        return 0;
    memcpy(head, data, sizeof head);
    for (int i = 0; i < HEAD_WORDS; i++)
        head[i] = meant(head[i]);
    put_stack(data + sizeof head, size - sizeof head);
    walk(space, head);
    return 0;
}
