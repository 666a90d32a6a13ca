/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

#include <stdio.h>

enum { BLOCK_BYTES = 64, ROUNDS = 64, WORDS = 8, LENGTH_BYTES = 8 };

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t constants[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, unsigned n)
{
    return value >> n | value << (32 - n);
}

static uint32_t big_endian(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* 6.2.2 */
static void add_block(uint32_t hash[WORDS], const uint8_t block[BLOCK_BYTES])
{
    uint32_t w[ROUNDS], v[WORDS];
    for (size_t i = 0; i < 16; i++)
        w[i] = big_endian(block + 4 * i);
    for (size_t i = 16; i < ROUNDS; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, hash, sizeof v);
    for (size_t i = 0; i < ROUNDS; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + constants[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t most = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + most;
    }
    for (size_t i = 0; i < WORDS; i++)
        hash[i] += v[i];
}

/* A bit 1, zeros, and the length in bits (5.1.1): in one block more, or in two. */
static void add_end(uint32_t hash[WORDS], const uint8_t *rest, size_t n_rest, uint64_t size)
{
    uint8_t end[2 * BLOCK_BYTES] = {0};
    size_t n = n_rest + 1 + LENGTH_BYTES > BLOCK_BYTES ? 2 * BLOCK_BYTES : BLOCK_BYTES;
    if (n_rest)
        memcpy(end, rest, n_rest);
    end[n_rest] = 0x80;
    for (size_t i = 0; i < LENGTH_BYTES; i++)
        end[n - 1 - i] = (uint8_t)(size * 8 >> 8 * i);
    for (size_t at = 0; at < n; at += BLOCK_BYTES)
        add_block(hash, end + at);
}

void cairn_sha256_text(struct cairn_span bytes, char ret_text[CAIRN_SHA256_TEXT])
{
    /* The same of the square roots of the first eight primes (5.3.3). */
    uint32_t hash[WORDS] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    size_t at = 0;
    for (; bytes.size - at >= BLOCK_BYTES; at += BLOCK_BYTES)
        add_block(hash, bytes.data + at);
    add_end(hash, bytes.size > at ? bytes.data + at : NULL, bytes.size - at, bytes.size);
    for (size_t i = 0; i < WORDS; i++)
        snprintf(ret_text + 8 * i, 9, "%08x", hash[i]);
}
