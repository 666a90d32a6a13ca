/* SPDX-License-Identifier: MIT */
/* What the test of cairn.SoHook tracks: a library with native methods of the class CLASS. */
#include <dlfcn.h>
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_2(class, method) Java_##class##_##method
#define NAME_1(class, method) NAME_2(class, method)
#define METHOD(method)        NAME_1(CLASS, method)

/* Copied before any hook is there: as containers keep what frees their items. */
static void (*const volatile kept_free)(void *) = free;

/* Not a tail call, so that this library is the one that asks. */
__attribute__((noinline)) void *make_block(size_t bytes);
void *make_block(size_t bytes)
{
    char *block = malloc(bytes);
    if (block)
        block[0] = 1;
    return block;
}

JNIEXPORT jlong JNICALL METHOD(make)(JNIEnv *env, jclass self, jlong bytes)
{
    (void)env;
    (void)self;
    return (jlong)make_block((size_t)bytes);
}

JNIEXPORT void JNICALL METHOD(drop)(JNIEnv *env, jclass self, jlong block)
{
    (void)env;
    (void)self;
    free((void *)block);
}

JNIEXPORT void JNICALL METHOD(dropByPointer)(JNIEnv *env, jclass self, jlong block)
{
    (void)env;
    (void)self;
    kept_free((void *)block);
}

JNIEXPORT jlong JNICALL METHOD(copy)(JNIEnv *env, jclass self, jstring text)
{
    (void)self;
    const char *chars = (*env)->GetStringUTFChars(env, text, NULL);
    char *block = strdup(chars);
    (*env)->ReleaseStringUTFChars(env, text, chars);
    return (jlong)block;
}

/* Blocks of many sizes, by several functions; none is left. */
JNIEXPORT void JNICALL METHOD(churn)(JNIEnv *env, jclass self, jint n)
{
    (void)env;
    (void)self;
    void *blocks[16] = {0};
    for (jint i = 0; i < n; i++) {
        int at = i % 16;
        free(blocks[at]);
        blocks[at] = i % 3 ? malloc((size_t)(i % 5000 + 1)) : calloc(3, (size_t)(i % 100 + 1));
        if (i % 7 == 0)
            blocks[at] = realloc(blocks[at], (size_t)(i % 9000 + 1));
    }
    for (int i = 0; i < 16; i++)
        free(blocks[i]);
}

/* A block of a library whose path is no Java string. 0: it cannot be loaded. */
JNIEXPORT jlong JNICALL METHOD(makeIn)(JNIEnv *env, jclass self, jbyteArray path, jlong bytes)
{
    char name[4096];
    jsize n = (*env)->GetArrayLength(env, path);
    (void)self;
    if (n >= (jsize)sizeof(name))
        return 0;
    (*env)->GetByteArrayRegion(env, path, 0, n, (jbyte *)name);
    name[n] = 0;
    void *library = dlopen(name, RTLD_NOW);
    void *function = library ? dlsym(library, "make_block") : NULL;
    return function ? (jlong)((void *(*)(size_t))function)((size_t)bytes) : 0;
}
