/* guesses.c - see guesses.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/guesses.h"

#include "base/rand.h"

#define NEAR 4 /* places that one address may take */
#define NS_PER_MS 1000000u

struct guesses_place {
    uint64_t network; /* 0: free */
    uint64_t paid_ns; /* each wrong key moves it ahead by GUESSES_EVERY_NS */
};

struct guesses {
    pthread_mutex_t lock;
    uint64_t seed;
    struct guesses_place places[GUESSES_PLACES + NEAR];
};

struct guesses *guesses_new(void)
{
    struct guesses *g = base_alloc_zero(sizeof *g);

    pthread_mutex_init(&g->lock, NULL);
    rand_os(&g->seed, sizeof g->seed);
    return g;
}

void guesses_free(struct guesses *g)
{
    if (!g)
        return;
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* The first half of an IPv6 address. A mapped IPv4 address has none: its second half. */
static uint64_t guesses_network(const uint8_t address[16])
{
    static const uint8_t mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    uint64_t half;

    memcpy(&half, address + (memcmp(address, mapped, sizeof mapped) == 0 ? 8 : 0), sizeof half);
    return half ? half : 1;
}

/* The place of the address, else the one among its places whose wrong keys are the oldest. */
static struct guesses_place *guesses_find(struct guesses *g, uint64_t network)
{
    uint64_t h = (network ^ g->seed) * 0x9E3779B97F4A7C15u;
    struct guesses_place *from = &g->places[(h >> 32) % GUESSES_PLACES], *found = from;

    for (struct guesses_place *p = from; p < from + NEAR; p++) {
        if (p->network == network)
            return p;
        if (p->paid_ns < found->paid_ns)
            found = p;
    }
    *found = (struct guesses_place){.network = network};
    return found;
}

int64_t guesses_add(struct guesses *g, const uint8_t address[16], uint64_t now_ns)
{
    const uint64_t ahead = (GUESSES_MAX - 1) * GUESSES_EVERY_NS;
    struct guesses_place *p;
    int64_t wait_ms = 0;

    pthread_mutex_lock(&g->lock);
    p = guesses_find(g, guesses_network(address));
    if (p->paid_ns < now_ns)
        p->paid_ns = now_ns;
    if (p->paid_ns > now_ns + ahead)
        wait_ms = (int64_t)((p->paid_ns - now_ns - ahead + NS_PER_MS - 1) / NS_PER_MS);
    else
        p->paid_ns += GUESSES_EVERY_NS;
    pthread_mutex_unlock(&g->lock);
    return wait_ms;
}
