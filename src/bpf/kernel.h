/* SPDX-License-Identifier: MIT */
/*
 * Kernel types, for programs in the kernel: only the fields that we read. The loader finds where
 * they lie in the running kernel (CO-RE), so that nothing here is of the kernel it was built on.
 *
 * Names and types are the kernel's; order, and what lies between, are not. A field that came or
 * went is asked for by bpf_core_field_exists() first.
 */
#ifndef CAIRN_BPF_KERNEL_H
#define CAIRN_BPF_KERNEL_H

/* clang-format off */
#include <linux/types.h>
#if defined(__bpf__)
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h> /* wants the types of the one before */
#include <bpf/bpf_core_read.h>
#endif
/* clang-format on */

#if defined(__has_attribute) && __has_attribute(preserve_access_index)
#define CAIRN_KERNEL_TYPE __attribute__((preserve_access_index))
#else
#define CAIRN_KERNEL_TYPE
#endif

struct pid_namespace;
struct seq_file;
struct pt_regs;

struct upid {
    int nr;
    struct pid_namespace *ns;
} CAIRN_KERNEL_TYPE;

struct pid {
    unsigned int level;     /* how deep the namespace is that it was made in */
    struct upid numbers[1]; /* one for each level: 0 is the machine's */
} CAIRN_KERNEL_TYPE;

/* A tree of ranges, Linux 6.1. A node is told by its address and, in the bits below, its type. */
struct maple_tree {
    void *ma_root;
} CAIRN_KERNEL_TYPE;

struct maple_range_64 { /* pivot[i]: the last number that slot[i] is for */
    unsigned long pivot[15];
    void *slot[16];
} CAIRN_KERNEL_TYPE;

struct maple_arange_64 {
    unsigned long pivot[9];
    void *slot[10];
} CAIRN_KERNEL_TYPE;

struct super_block {
    unsigned int s_dev;
    unsigned long s_magic; /* of the kind of file system */
} CAIRN_KERNEL_TYPE;

struct timespec64 {
    long long tv_sec;
    long tv_nsec;
} CAIRN_KERNEL_TYPE;

struct inode {
    struct super_block *i_sb;
    unsigned long i_ino;
    long long i_ctime_sec;       /* Linux 6.11 */
    unsigned int i_ctime_nsec;   /* likewise */
    struct timespec64 __i_ctime; /* Linux 6.6 to 6.10 */
    struct timespec64 i_ctime;   /* before that */
} CAIRN_KERNEL_TYPE;

struct dentry {
    struct inode *d_inode;
} CAIRN_KERNEL_TYPE;

struct path {
    struct dentry *dentry;
} CAIRN_KERNEL_TYPE;

struct file {
    unsigned int f_mode;
    struct inode *f_inode;
} CAIRN_KERNEL_TYPE;

struct backing_file {      /* begins as a file, that of a layer; who opened it opened another one */
    struct path user_path; /* Linux 6.8 */
} CAIRN_KERNEL_TYPE;

struct vm_userfaultfd_ctx {
    void *ctx; /* not NULL: under userfaultfd(2) */
} CAIRN_KERNEL_TYPE;

struct vm_area_struct { /* a mapping */
    unsigned long vm_start, vm_end;
    unsigned long vm_flags;
    unsigned long vm_pgoff;
    struct file *vm_file;
    struct vm_userfaultfd_ctx vm_userfaultfd_ctx; /* empty in a kernel without userfaultfd(2) */
} CAIRN_KERNEL_TYPE;

/* Where uprobes keep instructions; its first one is what their functions return to. */
struct xol_area {
    unsigned long vaddr;
} CAIRN_KERNEL_TYPE;

struct uprobes_state {
    struct xol_area *xol_area; /* NULL: no probe has needed one */
} CAIRN_KERNEL_TYPE;

struct return_instance { /* a call whose return address a uretprobe has replaced */
    unsigned long stack; /* the stack pointer as the function began */
    unsigned long orig_ret_vaddr;
    struct return_instance *next; /* of the call before */
} CAIRN_KERNEL_TYPE;

struct uprobe_task {
    struct return_instance *return_instances;
    unsigned long vaddr;     /* of the probe whose instruction is single-stepped, */
    unsigned long xol_vaddr; /* and of the instruction's copy; 0: none is */
} CAIRN_KERNEL_TYPE;

struct mm_context { /* has another name, or none, which does not count */
    void *vdso;
} CAIRN_KERNEL_TYPE;

struct mm_struct {
    unsigned long start_code;  /* 0: execve(2) is not through with it */
    unsigned long start_stack; /* of the program's arguments: another at each execve(2) */
    struct maple_tree mm_mt;   /* of its mappings; Linux 6.1 */
    struct mm_context context;
    struct uprobes_state uprobes_state;
} CAIRN_KERNEL_TYPE;

struct sched_entity {
    unsigned long long sum_exec_runtime; /* CPU time, ns */
    unsigned char sched_delayed; /* it sleeps, and lies in the queue of its CPU yet; Linux 6.12 */
} CAIRN_KERNEL_TYPE;

struct signal_struct { /* of a process */
    struct {
        int counter;
    } live; /* threads that have not ended */
} CAIRN_KERNEL_TYPE;

struct thread_info {
    unsigned int status; /* x86-64 alone */
    unsigned long flags;
} CAIRN_KERNEL_TYPE;

struct task_struct {
    struct thread_info thread_info;
    unsigned int __state; /* Linux 5.14 */
    unsigned int flags;
    int exit_state;
    int on_cpu; /* not where the kernel knows one CPU alone */
    int on_rq;
    int pid, tgid;
    struct mm_struct *mm;
    struct pid *thread_pid;
    struct task_struct *group_leader, *real_parent;
    struct signal_struct *signal;
    struct uprobe_task *utask; /* NULL: no probe was hit */
    struct sched_entity se;
    unsigned long nvcsw, nivcsw;
    unsigned long sas_ss_sp; /* of sigaltstack(2) */
    char comm[16];
} CAIRN_KERNEL_TYPE;

struct perf_event {
    struct perf_event *parent; /* that it was inherited from; NULL: it was opened */
} CAIRN_KERNEL_TYPE;

/* What the context of a program at a perf event is. */
struct bpf_perf_event_data_kern {
    struct perf_event *event;
} CAIRN_KERNEL_TYPE;

struct bpf_iter_meta {
    struct seq_file *seq;
} CAIRN_KERNEL_TYPE;

struct bpf_iter__task {
    struct bpf_iter_meta *meta;
    struct task_struct *task;
} CAIRN_KERNEL_TYPE;

#endif /* CAIRN_BPF_KERNEL_H */
