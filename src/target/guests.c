/* SPDX-License-Identifier: MIT */
#include "target/guests.h"

#include "base/address.h"
#include "base/alloc.h"
#include "base/log.h"
#include "unwind/cursor_resume.h"

enum { MODULES_MAX = 4096 };

struct cairn_guest_known_file {
    const struct cairn_space_module *module;
    struct cairn_guest_file files[CAIRN_GUEST_OF_FILE_MAX];
    size_t n;
};

static void forget_modules(struct cairn_target_guests *guests)
{
    for (size_t i = 0; i < guests->n_files; i++) {
        for (size_t k = 0; k < guests->files[i]->n; k++)
            cairn_guest_file_done(&guests->files[i]->files[k]);
        cairn_free(guests->files[i]);
    }
    guests->n_files = guests->n_modules = 0;
    guests->looked_at_all = false;
    cairn_target_guest_names_forget(&guests->names);
}

/* What is known of modules is that of the space. */
static void keep_up(struct cairn_target_guests *guests)
{
    if (guests->generation != guests->space->generation)
        forget_modules(guests);
    guests->generation = guests->space->generation;
}

void cairn_target_guests_init(struct cairn_target_guests *guests, struct cairn_unwind_space *space,
                              int pid)
{
    *guests = (struct cairn_target_guests){.space = space, .generation = space->generation};
    cairn_target_guest_names_init(&guests->names, space, pid);
}

void cairn_target_guests_done(struct cairn_target_guests *guests)
{
    forget_modules(guests);
    cairn_target_guest_names_done(&guests->names);
    cairn_guest_result_done(&guests->result);
    cairn_free(guests->files);
    cairn_free(guests->modules);
    cairn_free(guests->natives);
    cairn_free(guests->regs);
    *guests = (struct cairn_target_guests){0};
}

static int find_own(struct cairn_target_guests *guests, const struct cairn_space_module *module,
                    struct cairn_guest_file *file)
{
    if (file->unread)
        cairn_log(CAIRN_LOG_WARNING, "%s: its functions are not shown: %s", file->version,
                  file->unread);
    if (!cairn_guest_has_loop(file))
        return CAIRN_OK;
    const struct cairn_registry *registry =
        cairn_target_guest_names_registry(&guests->names, module);
    return registry ? cairn_own_find(&module->elf, file->loop, registry, &file->own)
                    : CAIRN_E_NOMEM;
}

/* NULL: memory is gone. */
static const struct cairn_guest_known_file *known_of(struct cairn_target_guests *guests,
                                                     const struct cairn_space_module *module)
{
    int code = CAIRN_OK;
    for (size_t i = 0; i < guests->n_files; i++)
        if (guests->files[i]->module == module)
            return guests->files[i];
    struct cairn_guest_known_file *known = cairn_alloc(1, sizeof *known);
    if (!known || cairn_grow((void **)&guests->files, &guests->cap_files, guests->n_files + 1,
                             sizeof(void *)) < 0) {
        cairn_free(known);
        return NULL;
    }
    known->module = module;
    known->n = cairn_guest_look(&module->elf, known->files);
    guests->files[guests->n_files++] = known;
    for (size_t i = 0; i < known->n && code == CAIRN_OK; i++)
        code = find_own(guests, module, &known->files[i]);
    return code == CAIRN_OK ? known : NULL;
}

/* Of guests->modules; CAIRN_GUEST_NONE: there are too many. CAIRN_E_NOMEM. */
static int number_of(struct cairn_target_guests *guests, const struct cairn_guest_file *file,
                     uint64_t bias, uint32_t *ret_number)
{
    *ret_number = CAIRN_GUEST_NONE;
    for (size_t i = 0; i < guests->n_modules; i++)
        if (guests->modules[i].file == file && guests->modules[i].bias == bias)
            return *ret_number = (uint32_t)i, CAIRN_OK;
    if (guests->n_modules == MODULES_MAX)
        return CAIRN_OK;
    if (cairn_grow((void **)&guests->modules, &guests->cap_modules, guests->n_modules + 1,
                   sizeof *guests->modules) < 0)
        return CAIRN_E_NOMEM;
    *ret_number = (uint32_t)guests->n_modules;
    guests->modules[guests->n_modules++] = (struct cairn_guest_module){file, bias};
    return CAIRN_OK;
}

/* Whose code is at `vaddr`: one of several interpreters in a file. */
static bool is_of(const struct cairn_guest_file *file, uint64_t vaddr)
{
    return vaddr - file->loop < file->loop_end - file->loop || cairn_own_has(&file->own, vaddr);
}

/* Of guests->modules, the interpreter in the module that has the code at `ip`, or the first one;
 * CAIRN_GUEST_NONE: no interpreter is in it. CAIRN_E_NOMEM. */
static int find_module(struct cairn_target_guests *guests, const struct cairn_space_module *module,
                       uint64_t bias, uint64_t ip, uint32_t *ret_number)
{
    const struct cairn_guest_known_file *known = known_of(guests, module);
    int code = known ? CAIRN_OK : CAIRN_E_NOMEM;
    bool is_found = false;
    *ret_number = CAIRN_GUEST_NONE;
    for (size_t i = 0; code == CAIRN_OK && i < known->n; i++) {
        uint32_t number;
        code = number_of(guests, &known->files[i], bias, &number);
        if (i == 0 || (!is_found && is_of(&known->files[i], ip - bias)))
            *ret_number = number;
        is_found |= is_of(&known->files[i], ip - bias);
    }
    return code;
}

int cairn_target_guests_load(struct cairn_target_guests *guests)
{
    struct cairn_unwind_space *space = guests->space;
    uint64_t va = 0;
    int code = CAIRN_OK;
    keep_up(guests);
    if (guests->looked_at_all || !space->kind->next_code)
        return CAIRN_OK;
    guests->looked_at_all = true;
    for (size_t i = 0; i < CAIRN_SPACE_PLACES_MAX && code == CAIRN_OK &&
                       space->kind->next_code(space->accessors.ctx, va, &va);
         i++) {
        const struct cairn_space_place *place = cairn_space_at(space, va);
        uint32_t number;
        if (place && place->module && place->module->usable)
            code = find_module(guests, place->module, place->bias, va, &number);
        if (place && place->region.end > va)
            va = place->region.end;
        else
            va++;
    }
    return code;
}

const char *cairn_target_guests_path(const struct cairn_target_guests *guests,
                                     const struct cairn_guest_module *module)
{
    const struct cairn_space_place *place =
        cairn_space_at(guests->space, module->bias + module->file->loop);
    return place && place->region.path ? place->region.path : "";
}

static void keep_regs(struct cairn_target_guests *guests, struct cairn_cursor *cursor,
                      struct cairn_guest_regs *to)
{
    struct cairn_cursor_regs regs;
    cairn_cursor_all_regs(cursor, &regs);
    guests->machine = (uint16_t)regs.machine;
    to->ip = regs.ip;
    to->known = regs.known & ((UINT64_C(1) << CAIRN_GUEST_REGS) - 1);
    for (unsigned i = 0; i < CAIRN_GUEST_REGS; i++)
        to->value[i] = to->known >> i & 1 ? regs.reg[i] : 0;
}

/* The frame where the cursor stands. */
static int add(struct cairn_target_guests *guests, struct cairn_cursor *cursor)
{
    struct cairn_cursor_frame frame;
    uint64_t bias;
    uint32_t module = CAIRN_GUEST_NONE;
    int code = CAIRN_OK;
    cairn_cursor_frame(cursor, &frame);
    bool is_exact = frame.exact || frame.signal;
    uint64_t ip =
        cairn_lookup_address(frame.ip, is_exact ? CAIRN_ADDRESS_EXACT : CAIRN_ADDRESS_RETURN);
    const struct cairn_space_module *of = cairn_cursor_module(cursor, &bias);
    if (of)
        code = find_module(guests, of, bias, ip, &module);
    bool is_made = !of && !frame.path; /* code that something made */
    if (code == CAIRN_OK && is_made)
        code = cairn_target_guests_load(guests);
    if (code < 0 || cairn_grow((void **)&guests->natives, &guests->cap_natives,
                               guests->n_natives + 1, sizeof *guests->natives) < 0)
        return CAIRN_E_NOMEM;
    bool is_in_loop =
        module != CAIRN_GUEST_NONE && cairn_guest_wants_regs(&guests->modules[module], ip);
    bool wants_regs = is_made || is_in_loop || !guests->n_natives;
    struct cairn_guest_native *native = &guests->natives[guests->n_natives];
    *native = (struct cairn_guest_native){
        .ip = ip,
        .sp = frame.sp,
        .module = module,
        .regs = CAIRN_GUEST_NONE,
    };
    if (wants_regs) {
        if (cairn_grow((void **)&guests->regs, &guests->cap_regs, guests->n_regs + 1,
                       sizeof *guests->regs) < 0)
            return CAIRN_E_NOMEM;
        native->regs = (uint32_t)guests->n_regs;
        keep_regs(guests, cursor, &guests->regs[guests->n_regs++]);
    }
    guests->is_met |= is_in_loop || (is_made && guests->n_modules);
    guests->n_natives++;
    return CAIRN_OK;
}

int cairn_target_guests_begin(struct cairn_target_guests *guests, struct cairn_cursor *cursor)
{
    keep_up(guests);
    guests->n_natives = guests->n_regs = 0;
    guests->is_met = false;
    guests->result.n_frames = guests->result.n_states = 0;
    return add(guests, cursor);
}

static struct cairn_guest_thread thread_of(const struct cairn_target_guests *guests)
{
    const struct cairn_guest_constant same = {.memory = guests->space->memory};
    return (struct cairn_guest_thread){
        .memory = guests->space->memory,
        .constant = guests->constant.memory.read ? guests->constant : same,
        .machine = guests->machine,
        .modules = guests->modules,
        .n_modules = guests->n_modules,
        .natives = guests->natives,
        .n_natives = guests->n_natives,
        .regs = guests->regs,
        .n_regs = guests->n_regs,
    };
}

/* By an interpreter that made the code of the frame, or whose hand-written code it is. */
static bool step_by_guest(struct cairn_target_guests *guests, struct cairn_cursor *cursor)
{
    const struct cairn_guest_native *native = &guests->natives[guests->n_natives - 1];
    const struct cairn_guest_thread thread = thread_of(guests);
    struct cairn_guest_regs caller;
    if (native->regs == CAIRN_GUEST_NONE)
        return false;
    for (size_t i = 0; i < guests->n_modules; i++) {
        const struct cairn_guest_module *module = &guests->modules[i];
        if (!module->file->guest->step ||
            (native->module != CAIRN_GUEST_NONE && native->module != i))
            continue;
        if (native->module == i && !cairn_guest_wants_regs(module, native->ip))
            continue;
        if (module->file->guest->step(&thread, module, &guests->regs[native->regs], &caller)) {
            struct cairn_cursor_regs regs = {.machine = guests->machine, .known = caller.known};
            memcpy(regs.reg, caller.value, sizeof caller.value);
            regs.ip = caller.ip;
            return cairn_cursor_resume(cursor, &regs);
        }
    }
    return false;
}

int cairn_target_guests_step(struct cairn_target_guests *guests, struct cairn_cursor *cursor)
{
    if (!guests->is_met || !step_by_guest(guests, cursor)) {
        int result = cairn_cursor_step(cursor);
        if (result != 1)
            return result;
    }
    int code = add(guests, cursor);
    return code < 0 ? code : 1;
}

/* Where the functions of the frames begin: C functions are known by it. */
static void find_functions(struct cairn_target_guests *guests)
{
    for (size_t i = 0; i < guests->n_natives; i++) {
        struct cairn_guest_native *native = &guests->natives[i];
        const struct cairn_space_place *place = cairn_space_at(guests->space, native->ip);
        struct cairn_module_entry entry;
        if (!place || !place->module || !place->module->usable)
            continue;
        cairn_space_module_find(place->module, native->ip - place->bias, &entry);
        if (entry.kind == CAIRN_ENTRY_FDE)
            native->function = entry.fde.from + place->bias;
    }
}

int cairn_target_guests_read(struct cairn_target_guests *guests)
{
    if (!guests->is_met)
        return CAIRN_OK;
    find_functions(guests);
    const struct cairn_guest_thread thread = thread_of(guests);
    return cairn_guest_read(&thread, &guests->result);
}

bool cairn_target_guests_doubts(const struct cairn_target_guests *guests)
{
    for (size_t i = 0; guests->is_met && i < guests->result.n_states; i++)
        if (guests->result.states[i].doubt)
            return true;
    return false;
}

int cairn_target_guests_name(struct cairn_target_guests *guests)
{
    return guests->is_met ? cairn_guest_name(&guests->result, &guests->names.names) : CAIRN_OK;
}
