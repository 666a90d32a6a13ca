/* SPDX-License-Identifier: MIT */
/* What a test is built with: gcc and clang each have their own words for that. */
#ifndef CAIRN_TESTS_SANITIZED_H
#define CAIRN_TESTS_SANITIZED_H

#ifdef __has_feature
#define SANITIZED_HAS(feature) __has_feature(feature)
#else
#define SANITIZED_HAS(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || SANITIZED_HAS(address_sanitizer)
enum { UNDER_ASAN = 1 };
#else
enum { UNDER_ASAN = 0 };
#endif

#if defined(__SANITIZE_THREAD__) || SANITIZED_HAS(thread_sanitizer)
enum { UNDER_TSAN = 1 };
#else
enum { UNDER_TSAN = 0 };
#endif

#endif /* CAIRN_TESTS_SANITIZED_H */
