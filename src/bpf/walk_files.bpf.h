/* SPDX-License-Identifier: MIT */
/*
 * Walk files: from an address to its rule, for walk.bpf.c alone. By the process's space where it
 * has one; else, and where that does not know the address, by what the kernel has mapped there:
 *
 *     va ──► tree of mappings ──► file, offset in it ──► module, whoever was looked at for it
 *
 * So a process that nobody has looked at is walked all the same, if its files are known: one of
 * thousands that compilers start, each gone before anybody could have read its mappings.
 *
 * The tree is read as it is, without a lock, by copies: what changes meanwhile gives wrong
 * mappings, which have to hold the address, and in the end wrong rules, nothing worse.
 */
#ifndef CAIRN_BPF_WALK_FILES_H
#define CAIRN_BPF_WALK_FILES_H

#include "bpf/walk_search.bpf.h"

enum {
    PAGE = 4096,
    LEVELS = 8,    /* of a tree; 16 to that are more than mappings can be */
    NODE_LEAF = 1, /* lib/maple_tree.c, enum maple_type */
    NODE_RANGE = 2,
    NODE_ARANGE = 3,
    NODE_BITS = 255,
    VM_EXEC = 4,               /* include/linux/mm.h */
    FMODE_NOACCOUNT = 1 << 29, /* include/linux/fs.h; of the kernel's own files */
    NSEC_MASK = (1 << 30) - 1, /* above it is what the kernel notes for itself, Linux 6.13 */
    USED_EVERY_NS = 100000000
};

/* Of this machine: files are mapped by whole ones. */
const volatile __u64 cairn_page_bytes = PAGE;

struct walker {
    struct cairn_bpf_walk_cpu *cpu;
    struct cairn_bpf_space *space; /* NULL: nobody has looked at the process */
};

/* Modules of files. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, CAIRN_BPF_FILES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, struct cairn_bpf_file);
    __type(value, struct cairn_bpf_module);
} files SEC(".maps");

/* Before Linux 6.1 there is no tree, nor nodes of it. */
static __always_inline int has_tree(void)
{
    return bpf_core_field_exists(((struct mm_struct *)0)->mm_mt);
}

/* Where it is asked for: who is walked by a space must not pay for it. */
static __always_inline void open_mappings(struct cairn_bpf_walk_cpu *cpu)
{
    struct task_struct *task = (struct task_struct *)bpf_get_current_task_btf();
    if (cpu->tree_root || !has_tree())
        return;
    cpu->tree_root = (__u64)BPF_CORE_READ(task, mm, mm_mt.ma_root);
    if (bpf_core_field_exists(task->mm->context.vdso))
        cpu->vdso = (__u64)BPF_CORE_READ(task, mm, context.vdso);
}

/* The slot of a node for `va`, behind as many pivots as are below; those that are not in use are 0.
 * Global: the verifier looks at it once, not wherever it is called from, which took half of its
 * time. (What asks maps cannot be: to Linux 6.1 memory that such a function gets is no key.)
 */
__attribute__((noinline)) __u64 cairn_slot_of(struct cairn_bpf_walk_cpu *cpu, __u64 node, __u64 va)
{
    if (!cpu)
        return 0;
    int is_arange = (node >> 3 & 15) == NODE_ARANGE;
    __u64 first = bpf_core_field_offset(struct maple_range_64, pivot) / 8;
    __u64 slots = bpf_core_field_offset(struct maple_range_64, slot) / 8;
    __u64 n = bpf_core_field_size(((struct maple_range_64 *)0)->pivot) / 8, at = 0;
    if (is_arange) {
        first = bpf_core_field_offset(struct maple_arange_64, pivot) / 8;
        slots = bpf_core_field_offset(struct maple_arange_64, slot) / 8;
        n = bpf_core_field_size(((struct maple_arange_64 *)0)->pivot) / 8;
    }
    if (bpf_probe_read_kernel(cpu->node, sizeof cpu->node, (void *)(node & ~(__u64)NODE_BITS)))
        return 0;
    for (__u64 i = 0; i < 16; i++) {
        __u64 pivot = cpu->node[(first + i) & 31];
        __u64 below = (pivot - va) & -pivot & ~pivot & (i - n); /* the top bits of all are set */
        HIDE(below);
        at += below >> 63;
    }
    HIDE(at);
    return cpu->node[(slots + at) & 31];
}

/* What the kernel has mapped at `va`, or beside it. */
static __always_inline struct vm_area_struct *mapping_of(struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    __u64 node, type = NODE_RANGE;
    if (!has_tree())
        return 0;
    open_mappings(cpu);
    node = cpu->tree_root;
    for (int i = 0; i < LEVELS && node && type != NODE_LEAF; i++) {
        type = node >> 3 & 15;
        if (type < NODE_LEAF || type > NODE_ARANGE)
            return 0;
        node = cairn_slot_of(cpu, node, va);
    }
    return type == NODE_LEAF ? (struct vm_area_struct *)node : 0;
}

/* As /proc/PID/maps has it: of an overlay, not of the layer below. FMODE_BACKING would say so, but
 * has had another bit since; what is mapped and of the kernel's own is a backing file. */
static __always_inline struct inode *inode_of(struct file *file)
{
    struct backing_file *backing = (struct backing_file *)file;
    if (bpf_core_field_exists(backing->user_path) && BPF_CORE_READ(file, f_mode) & FMODE_NOACCOUNT)
        return BPF_CORE_READ(backing, user_path.dentry, d_inode);
    return BPF_CORE_READ(file, f_inode);
}

static __always_inline __u64 changed_ns(struct inode *inode)
{
    __u64 s, ns;
    if (bpf_core_field_exists(inode->i_ctime_sec)) {
        s = (__u64)BPF_CORE_READ(inode, i_ctime_sec);
        ns = BPF_CORE_READ(inode, i_ctime_nsec);
    } else if (bpf_core_field_exists(inode->__i_ctime)) {
        s = (__u64)BPF_CORE_READ(inode, __i_ctime.tv_sec);
        ns = (__u64)BPF_CORE_READ(inode, __i_ctime.tv_nsec);
    } else {
        s = (__u64)BPF_CORE_READ(inode, i_ctime.tv_sec);
        ns = (__u64)BPF_CORE_READ(inode, i_ctime.tv_nsec);
    }
    return s * 1000000000 + (ns & NSEC_MASK);
}

/* The file of cpu->mapping. False: of no file, and not the vdso. */
static __always_inline int file_of(struct cairn_bpf_walk_cpu *cpu, struct vm_area_struct *vma)
{
    const struct cairn_bpf_range *range = &cpu->mapping;
    struct cairn_bpf_file *ret = &cpu->file;
    struct file *file = BPF_CORE_READ(vma, vm_file);
    if (!file) {
        ret->off = range->end - range->start;
        return cpu->vdso && range->start == cpu->vdso;
    }
    struct inode *inode = inode_of(file);
    __u64 dev = BPF_CORE_READ(inode, i_sb, s_dev);
    ret->dev = dev >> 20 << 32 | (dev & 0xfffff); /* include/linux/kdev_t.h */
    ret->inode = BPF_CORE_READ(inode, i_ino);
    ret->off = BPF_CORE_READ(vma, vm_pgoff) * cairn_page_bytes;
    ret->changed_ns = changed_ns(BPF_CORE_READ(file, f_inode)); /* stat(2) has the layer's, too */
    return 1;
}

/* Finds out what is mapped at `va`; its number in met[], or CAIRN_BPF_MET_MAX: no code is, or it is
 * not known, and missing. */
static __attribute__((noinline)) __u32 meet(struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    struct cairn_bpf_range *range = &cpu->mapping;
    struct cairn_bpf_module *module = 0;
    struct vm_area_struct *vma = mapping_of(cpu, va);
    __u32 id = 0, at = cpu->n_met;
    if (!vma || !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
        return CAIRN_BPF_MET_MAX;
    *range = (struct cairn_bpf_range){.flags = CAIRN_BPF_FP_OK};
    range->start = BPF_CORE_READ(vma, vm_start);
    range->end = BPF_CORE_READ(vma, vm_end);
    if (va < range->start || va >= range->end)
        return CAIRN_BPF_MET_MAX;
    cpu->file = (struct cairn_bpf_file){};
    if (file_of(cpu, vma)) {
        module = bpf_map_lookup_elem(&files, &cpu->file);
        cpu->is_missing = !module;
        if (!module)
            return CAIRN_BPF_MET_MAX;
        if (cpu->stack.time_ns - module->used_ns > USED_EVERY_NS) /* it must not give way */
            module->used_ns = cpu->stack.time_ns;
        range->to_text = module->text - range->start;
        range->strip = module->strip;
        range->n_strips = module->n_strips;
        range->flags = module->flags;
        id = module->id | CAIRN_BPF_ID_BY_FILES;
    }
    at &= CAIRN_BPF_MET_MAX - 1; /* where there are more, the first are asked for again */
    cpu->met[at] = *range;
    cpu->met_ids[at] = id;
    cpu->n_met = at + 1;
    return at;
}

static __always_inline __u32 find_met(const struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    for (__u32 i = 0; i < CAIRN_BPF_MET_MAX; i++)
        if (i < cpu->n_met && va >= cpu->met[i].start && va < cpu->met[i].end)
            return i;
    return CAIRN_BPF_MET_MAX;
}

static __always_inline struct cairn_bpf_cached *cached(struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    return &cpu->cache[(va ^ va >> 11) & (CAIRN_BPF_CACHE_ENTRIES - 1)];
}

/* The rule at `va`, that is in this range, with what else is known of the place. */
static __always_inline __u32 rule_in(const struct cairn_bpf_range *range, __u64 va)
{
    __u64 text = va + range->to_text;
    __u32 found = PLACE_IS_CODE;
    if (range->flags & CAIRN_BPF_FP_OK)
        found |= PLACE_FP_OK;
    if (range->flags & CAIRN_BPF_NO_ROOM)
        found |= PLACE_NO_ROOM;
    if (text >> CAIRN_BPF_STRIP_SHIFT < range->n_strips)
        found |= cairn_find_rule(range->strip, text);
    return found;
}

static __attribute__((noinline)) __u32 find_by_file(struct cairn_bpf_walk_cpu *cpu, __u64 va)
{
    __u32 at = find_met(cpu, va);
    cpu->is_missing = 0;
    if (at >= CAIRN_BPF_MET_MAX)
        at = meet(cpu, va);
    if (at >= CAIRN_BPF_MET_MAX)
        return 0;
    const struct cairn_bpf_range *range = &cpu->met[at];
    __u64 text = va + range->to_text;
    __u32 id = cpu->met_ids[at];
    struct cairn_bpf_cached *kept = cached(cpu, text);
    if (id && kept->va == text && kept->id == id)
        return kept->rule;
    cpu->n_misses++;
    __u32 found = rule_in(range, va);
    if (id) {
        kept->va = text;
        kept->id = id;
        kept->rule = found;
    }
    return found;
}

/* The rule at `va` with what else is known of the place; 0: no code is there, or, where is_missing,
 * it is not known. */
static __always_inline __u32 find(struct walker *w, __u64 va)
{
    struct cairn_bpf_walk_cpu *cpu = w->cpu;
    struct cairn_bpf_space *space = w->space;
    if (!space)
        return find_by_file(cpu, va);
    __u32 id = space->id;
    struct cairn_bpf_cached *kept = cached(cpu, va);
    if (kept->va == va && kept->id == id)
        return kept->rule;
    cpu->n_misses++;
    __u32 i = cairn_find_range(space, va);
    if (i >= CAIRN_BPF_RANGES_MAX) /* mapped since it was looked at? */
        return find_by_file(cpu, va);
    kept->va = va;
    kept->id = id;
    kept->rule = rule_in(&space->ranges[i], va);
    return kept->rule;
}

#endif /* CAIRN_BPF_WALK_FILES_H */
