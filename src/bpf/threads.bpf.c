/* SPDX-License-Identifier: MIT */
/*
 * The task iterator: runs in the process that reads it, once for each thread of another one, and
 * copies the thread's registers and the top of its stack while nobody stops it. Copying may wait
 * for memory (a sleepable program, Linux 5.18), so the thread may wake up meanwhile: what tells is
 * read again behind the copy.
 */
#include <stdbool.h>

#include "bpf/pids.bpf.h"
#include "bpf/threads_slot.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

enum {
    PF_KTHREAD = 0x00200000,
    FUSE_MAGIC = 0x65735546,
    MAPPINGS_MAX = 4,
    RETURNS_MAX = 64 /* MAX_URETPROBE_DEPTH, kernel/events/uprobes.c */
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CAIRN_BPF_SLOTS);
    __type(key, uint32_t);
    __type(value, struct cairn_bpf_slot);
} slots SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, CAIRN_BPF_PAGES);
    __uint(key_size, sizeof(uint32_t));
    __uint(value_size, CAIRN_BPF_PAGE);
} stacks SEC(".maps");

const volatile struct cairn_bpf_cpu cpu = {0};

struct cairn_bpf_wish wish = {0};
uint32_t n_slots = 0, n_pages = 0; /* filled in this run */

struct copy {
    struct task_struct *task;
    uint64_t va;
    uint32_t page;
    uint32_t n;
};

/* The number of a thread in the namespace of who reads, which is an ancestor of the thread's. */
static int number_of(struct task_struct *task)
{
    struct pid *own = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
    return upid_at(task, BPF_CORE_READ(own, level)).nr;
}

struct seen {
    uint64_t start, end; /* of the mapping; 0: it was not looked at */
    uint32_t unread;
};

static long see_mapping(struct task_struct *task, struct vm_area_struct *vma, struct seen *seen)
{
    (void)task;
    seen->start = vma->vm_start;
    seen->end = vma->vm_end;
    struct file *file = vma->vm_file;
    if (bpf_core_field_exists(vma->vm_userfaultfd_ctx.ctx) &&
        BPF_CORE_READ(vma, vm_userfaultfd_ctx.ctx))
        seen->unread = CAIRN_BPF_UFFD;
    else if (file && BPF_CORE_READ(file, f_inode, i_sb, s_magic) == FUSE_MAGIC)
        seen->unread = CAIRN_BPF_FUSE;
    return 0;
}

static void look(struct task_struct *task, struct cairn_bpf_moment *moment)
{
    moment->switches = task->nvcsw + task->nivcsw;
    moment->on_cpu = bpf_core_field_exists(task->on_cpu) ? task->on_cpu : 0;
    moment->state = task->__state;
}

static long copy_page(uint32_t i, struct copy *copy)
{
    uint32_t page = copy->page + i;
    void *to = bpf_map_lookup_elem(&stacks, &page);
    const void *from = (const void *)(copy->va + (uint64_t)i * CAIRN_BPF_PAGE);
    if (!to || bpf_copy_from_user_task(to, CAIRN_BPF_PAGE, from, copy->task, 0))
        return 1;
    copy->n++;
    return 0;
}

static uint64_t word(const struct cairn_bpf_slot *slot, uint32_t i)
{
    return i < CAIRN_BPF_REG_WORDS ? slot->regs[i] : 0;
}

static void put_unread(struct cairn_bpf_slot *slot, const struct seen *seen)
{
    slot->unread = seen->unread;
    slot->unread_from = seen->start;
    slot->unread_to = seen->end;
}

/* Those of the stack's own mapping and of some behind it: mprotect(2) or mlock(2) of a part makes
 * several mappings of a stack. Where the mappings are locked nothing is known of them, and the
 * reader's deadline has to do. */
static uint32_t pages_to_read(struct task_struct *task, struct cairn_bpf_slot *slot, uint64_t va)
{
    uint64_t pages = 0;
    for (int i = 0; i < MAPPINGS_MAX && pages < wish.max_pages; i++) {
        struct seen seen = {0};
        bpf_find_vma(task, va + pages * CAIRN_BPF_PAGE, see_mapping, &seen, 0);
        if (!seen.end)
            return i ? pages : wish.max_pages;
        put_unread(slot, &seen);
        if (seen.unread)
            return pages;
        pages = (seen.end - va) / CAIRN_BPF_PAGE;
    }
    return pages < wish.max_pages ? pages : wish.max_pages;
}

static void copy_stack(struct task_struct *task, struct cairn_bpf_slot *slot)
{
    struct copy copy = {.task = task, .page = n_pages};
    bool is_32 = (word(slot, cpu.mode) & cpu.mode_32_mask) == cpu.mode_32;
    uint64_t sp = word(slot, is_32 ? cpu.sp_32 : cpu.sp);
    copy.va = (sp & -(uint64_t)CAIRN_BPF_PAGE) + (uint64_t)wish.skip_pages * CAIRN_BPF_PAGE;
    uint32_t pages = pages_to_read(task, slot, copy.va);
    bpf_loop(pages, copy_page, &copy, 0);
    slot->stack_va = copy.va;
    slot->n_pages = copy.n;
    n_pages += copy.n;
}

struct repair {
    const struct cairn_bpf_slot *slot;
    struct return_instance *of;
    uint64_t replaced; /* the page of the return addresses that uretprobes put */
};

/* Of several probes on a function the first one comes last, and has the true address. */
static long repair_return(uint32_t i, struct repair *repair)
{
    struct return_instance *of = repair->of;
    (void)i;
    if (!of)
        return 1;
    repair->of = BPF_CORE_READ(of, next);
    uint64_t off = BPF_CORE_READ(of, stack) - repair->slot->stack_va;
    uint64_t ret = BPF_CORE_READ(of, orig_ret_vaddr);
    if (off / CAIRN_BPF_PAGE >= repair->slot->n_pages || off % sizeof ret)
        return 0;
    uint32_t page = repair->slot->page + off / CAIRN_BPF_PAGE;
    uint64_t *words = bpf_map_lookup_elem(&stacks, &page);
    uint64_t at = off % CAIRN_BPF_PAGE / sizeof ret;
    if (words && words[at] - repair->replaced < CAIRN_BPF_PAGE &&
        ret - repair->replaced >= CAIRN_BPF_PAGE)
        words[at] = ret;
    return 0;
}

/* Return probes of any tracer have replaced addresses on the stack. The kernel keeps the true ones
 * (kernel/events/uprobes.c, struct return_instance). */
static void repair_stack(struct task_struct *task, const struct cairn_bpf_slot *slot)
{
    struct repair repair = {.slot = slot};
    if (!cpu.returns_on_stack || !bpf_core_field_exists(task->utask) ||
        !bpf_core_field_exists(task->mm->uprobes_state) || !task->utask)
        return;
    repair.replaced = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
    repair.of = BPF_CORE_READ(task, utask, return_instances);
    if (repair.replaced)
        bpf_loop(RETURNS_MAX, repair_return, &repair, 0);
}

static void fill(struct task_struct *task, struct cairn_bpf_slot *slot)
{
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(task);
    uint32_t bytes = cpu.regs_bytes;
    slot->flags = task->flags;
    slot->exit_state = task->exit_state;
    slot->alt_stack = task->sas_ss_sp;
    slot->page = n_pages;
    slot->n_pages = 0;
    slot->has_regs = 0;
    slot->unread = CAIRN_BPF_READ;
    bpf_probe_read_kernel(slot->name, sizeof slot->name, task->comm);
    look(task, &slot->before);
    slot->kernel_bytes = 0;
    if (wish.kernel_frames)
        slot->kernel_bytes =
            (int32_t)bpf_get_task_stack(task, slot->kernel, sizeof slot->kernel, 0);
    if (task->mm && !(slot->flags & PF_KTHREAD) && bytes <= sizeof slot->regs &&
        !bpf_probe_read_kernel(slot->regs, bytes, regs)) {
        slot->has_regs = 1;
        copy_stack(task, slot);
        repair_stack(task, slot);
    }
    look(task, &slot->after);
}

SEC("iter.s/task") int cairn_threads(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    if (!task)
        return 0;
    struct task_struct *leader = task->group_leader;
    int tid = number_of(task), pid = number_of(leader);
    if (!tid || pid != wish.pid || tid < wish.tid_first || tid > wish.tid_last)
        return 0;
    uint32_t next = n_slots;
    const char mark = 0;
    struct cairn_bpf_slot *slot = bpf_map_lookup_elem(&slots, &next);
    if (!slot || n_pages + wish.max_pages > CAIRN_BPF_PAGES)
        return 1; /* no room: this thread comes first in the next run */
    slot->pid = pid;
    slot->tid = tid;
    fill(task, slot);
    n_slots = next + 1;
    bpf_seq_write(ctx->meta->seq, &mark, 1); /* what reads nothing takes it for the end */
    return 0;
}
