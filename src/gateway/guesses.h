/* guesses.h - wrong client keys, counted by the address that they come from.
 *
 *     wait_ms = guesses_add(g, address, now_ns);     after a wrong key; > 0: refuse with 429
 *
 * Right keys are not counted, so nobody can block them by guessing from the same address. An
 * address may send GUESSES_MAX wrong keys at once, then one each GUESSES_EVERY_NS. The table has a
 * fixed size: under very many addresses it forgets the one that was quiet for longest, among those
 * that share a place. Any thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdint.h>

#define GUESSES_MAX 100
#define GUESSES_EVERY_NS ((uint64_t)1000000000)
#define GUESSES_PLACES 1024 /* addresses that are remembered */

struct guesses;

struct guesses *guesses_new(void);
void guesses_free(struct guesses *g);
/* An IPv6 address, which may be a mapped IPv4 address; all addresses of an IPv6 /64 count as one.
 * now_ns: monotonic; values of different threads may be slightly out of order. Returns 0, or the
 * milliseconds until a wrong key from there gets 401 again instead of 429. */
int64_t guesses_add(struct guesses *g, const uint8_t address[16], uint64_t now_ns);
