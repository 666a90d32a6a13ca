/* SPDX-License-Identifier: MIT */
/*
 * The native half of cairn.SoHook (SoHook.java): <memory_tracker.h> with Java's types. Names come
 * as bytes with a zero behind them, which Java has checked; texts leave as bytes.
 */
#include <jni.h>
#include <memory_tracker.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NAMES = 4096 };

static void throw_no_memory(JNIEnv *env, const char *message)
{
    jclass error = (*env)->FindClass(env, "java/lang/OutOfMemoryError");
    if (error)
        (*env)->ThrowNew(env, error, message);
}

struct names {
    char *texts[MOST_NAMES];
    jsize n;
};

static void free_names(struct names *names)
{
    for (jsize i = 0; names && i < names->n; i++)
        free(names->texts[i]);
    free(names);
}

static char *copy_bytes(JNIEnv *env, jbyteArray bytes)
{
    jsize n = (*env)->GetArrayLength(env, bytes);
    char *text = malloc((size_t)n + 1);
    if (text) {
        (*env)->GetByteArrayRegion(env, bytes, 0, n, (jbyte *)text);
        text[n] = 0;
    }
    return text;
}

/* NULL: no memory, or more names than the tracker takes; *ret_code says which. */
static struct names *take_names(JNIEnv *env, jobjectArray list, int *ret_code)
{
    jsize n = (*env)->GetArrayLength(env, list);
    struct names *names = n <= MOST_NAMES ? calloc(1, sizeof(*names)) : NULL;
    *ret_code = n <= MOST_NAMES ? MEMORY_TRACKER_E_NOMEM : MEMORY_TRACKER_E_ARG;
    for (jsize i = 0; names && i < n; i++) {
        jbyteArray bytes = (jbyteArray)(*env)->GetObjectArrayElement(env, list, i);
        char *text = copy_bytes(env, bytes);
        (*env)->DeleteLocalRef(env, bytes);
        if (!text) {
            free_names(names);
            return NULL;
        }
        names->texts[names->n++] = text;
    }
    return names;
}

typedef int choose_fn(const char *const *libraries, size_t n);

static jint choose(JNIEnv *env, jobjectArray list, choose_fn *call)
{
    int code;
    if (!list)
        return call(NULL, 0);
    struct names *names = take_names(env, list, &code);
    if (!names)
        return code;
    code = call((const char *const *)names->texts, (size_t)names->n);
    free_names(names);
    return code;
}

static jbyteArray to_bytes(JNIEnv *env, const char *text)
{
    size_t n = strlen(text);
    jbyteArray bytes = n <= INT32_MAX ? (*env)->NewByteArray(env, (jsize)n) : NULL;
    if (bytes)
        (*env)->SetByteArrayRegion(env, bytes, 0, (jsize)n, (const jbyte *)text);
    else if (n > INT32_MAX)
        throw_no_memory(env, "the report has more than 2 GiB: dumpLeakReport() writes it");
    return bytes;
}

JNIEXPORT jint JNICALL Java_cairn_SoHook_nativeInit(JNIEnv *env, jclass self, jboolean debug,
                                                    jboolean enable_backtrace)
{
    (void)env;
    (void)self;
    return memory_tracker_init(debug, enable_backtrace);
}

JNIEXPORT jint JNICALL Java_cairn_SoHook_nativeHook(JNIEnv *env, jclass self, jobjectArray names)
{
    (void)self;
    return choose(env, names, memory_tracker_hook);
}

JNIEXPORT jint JNICALL Java_cairn_SoHook_nativeUnhook(JNIEnv *env, jclass self, jobjectArray names)
{
    (void)self;
    return choose(env, names, memory_tracker_unhook);
}

JNIEXPORT void JNICALL Java_cairn_SoHook_nativeSetBacktraceEnabled(JNIEnv *env, jclass self,
                                                                   jboolean enabled)
{
    (void)env;
    (void)self;
    memory_tracker_set_backtrace_enabled(enabled);
}

JNIEXPORT jboolean JNICALL Java_cairn_SoHook_nativeIsBacktraceEnabled(JNIEnv *env, jclass self)
{
    (void)env;
    (void)self;
    return memory_tracker_is_backtrace_enabled();
}

JNIEXPORT jint JNICALL Java_cairn_SoHook_nativeGetStats(JNIEnv *env, jclass self, jlongArray counts)
{
    struct memory_stats stats = {0};
    (void)self;
    int code = memory_tracker_get_stats(&stats);
    const jlong values[] = {(jlong)stats.total_allocations,   (jlong)stats.total_allocated_bytes,
                            (jlong)stats.total_frees,         (jlong)stats.total_freed_bytes,
                            (jlong)stats.current_allocations, (jlong)stats.current_bytes,
                            (jlong)stats.peak_bytes};
    if (code == MEMORY_TRACKER_OK)
        (*env)->SetLongArrayRegion(env, counts, 0, sizeof(values) / sizeof(values[0]), values);
    return code;
}

JNIEXPORT jbyteArray JNICALL Java_cairn_SoHook_nativeReport(JNIEnv *env, jclass self, jboolean json)
{
    (void)self;
    char *text = json ? memory_tracker_get_leaks_json() : memory_tracker_get_leak_report();
    if (!text) {
        throw_no_memory(env, "no memory for the report: dumpLeakReport() needs none");
        return NULL;
    }
    jbyteArray bytes = to_bytes(env, text);
    free(text);
    return bytes;
}

JNIEXPORT jint JNICALL Java_cairn_SoHook_nativeDump(JNIEnv *env, jclass self, jbyteArray path)
{
    (void)self;
    char *text = copy_bytes(env, path);
    int code = text ? memory_tracker_dump_leak_report(text) : MEMORY_TRACKER_E_NOMEM;
    free(text);
    return code;
}

JNIEXPORT void JNICALL Java_cairn_SoHook_nativeResetStats(JNIEnv *env, jclass self)
{
    (void)env;
    (void)self;
    memory_tracker_reset_stats();
}

JNIEXPORT jbyteArray JNICALL Java_cairn_SoHook_nativeStrerror(JNIEnv *env, jclass self, jint code)
{
    (void)self;
    return to_bytes(env, memory_tracker_strerror(code));
}
