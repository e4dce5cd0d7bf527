/* json_bench.h - the C face of the contestants that are not C.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The sums of a contestant over a document: all contestants must agree. */
struct json_bench_sum {
    uint64_t strings, string_bytes, numbers, number_bytes, others;
};

#ifdef __cplusplus
extern "C" {
#endif

struct json_bench_simd;

struct json_bench_simd *json_bench_simd_new(void);
void json_bench_simd_free(struct json_bench_simd *s);
const char *json_bench_simd_kernel(void);

/* How many bytes after the document must be readable. */
size_t json_bench_simd_padding(void);

/* unescape: every string is unescaped; otherwise its raw bytes count. */
bool json_bench_simd_read(struct json_bench_simd *s, const char *p, size_t n, bool unescape,
                          struct json_bench_sum *sum);

#ifdef __cplusplus
}
#endif
