/* usage.c - what one call adds to its sums, in SQL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/usage.h"

static const char usage_hour_which[] =
    "i.started_ms / 3600000, coalesce(i.model, ''), coalesce(i.provider, ''),"
    " coalesce(i.key_name, ''), coalesce(i.reasoning_level, ''),"
    " CASE WHEN i.cap_tokens > 0 THEN i.cap_tokens ELSE 0 END";

/* As engine_usage.c counts them, so that sums do not run over. */
#define COUNTED(column)                                                                            \
    " CASE WHEN i." column " > 1099511627776 THEN 1099511627776 WHEN i." column                    \
    " > 0 THEN i." column " ELSE 0 END,"
#define TOKENS "coalesce(i.reasoning_tokens, 0) * 10.0" /* no whole number: it may be too large */
#define FROM(n) " CASE WHEN i.cap_tokens > 0 AND " TOKENS " >= " n ".0 * i.cap_tokens"
#define TO(n) " AND " TOKENS " < " n ".0 * i.cap_tokens THEN 1 ELSE 0 END,"

#define FAILED " CASE WHEN i.status >= 400 OR i.error_code IS NOT NULL THEN 1 ELSE 0 END,"
#define STARVED                                                                                    \
    " CASE WHEN i.has_reasoning = 1 AND i.status < 400 AND i.complete = 1 AND (i.texts & 48) = 0"  \
    " THEN 1 ELSE 0 END,"
#define CUT " CASE WHEN i.reasoning_cut IS NOT NULL THEN 1 ELSE 0 END,"
#define COST " CASE WHEN i.cost_usd IS NULL THEN 0 ELSE 1 END, coalesce(i.cost_usd, 0)"

/* clang-format off */
static const char usage_hour_sums[] =
    "1," FAILED
    COUNTED("input_tokens") COUNTED("output_tokens")
    COUNTED("reasoning_tokens") COUNTED("cache_read_tokens")
    STARVED CUT " i.has_reasoning,"
    " CASE WHEN i.cap_tokens > 0" TO("1")
    FROM("1") TO("2")
    FROM("2") TO("3")
    FROM("3") TO("4")
    FROM("4") TO("5")
    FROM("5") TO("6")
    FROM("6") TO("7")
    FROM("7") TO("8")
    FROM("8") TO("9")
    FROM("9") " THEN 1 ELSE 0 END,"
    COST;

static const char usage_slot_sums[] =
    "1," FAILED COUNTED("input_tokens") COUNTED("output_tokens") COUNTED("reasoning_tokens")
    STARVED CUT "@" COST;

const int64_t usage_latency_ms[] = {
    64, 81, 102, 128, 161, 203, 256, 323, 406, 512, 645, 813, 1024, 1290, 1625, 2048, 2580, 3251,
    4096, 5161, 6502, 8192, 10321, 13004, 16384, 20643, 26008, 32768, 41285, 52016, 65536, 82570,
    104032, 131072, 165140, 208064, 262144, 330281, 416128, 524288, 660561, 832255, 1048576,
};

const struct usage_table usage_tables[] = {
    [USAGE_BY_HOUR] = {"usage_hours", USAGE_WHICH, USAGE_SUMS, "llm_interactions i",
                       usage_hour_which, usage_hour_sums, USAGE_WHICH_COUNT, USAGE_SUM_COUNT},
    [USAGE_BY_SLOT] = {"usage_slots", USAGE_SLOT_WHICH, USAGE_SLOT_SUMS,
                       "llm_interactions i CROSS JOIN (SELECT 300 AS seconds UNION ALL SELECT 3600"
                       " UNION ALL SELECT 86400) AS length",
                       "length.seconds, i.started_ms / (length.seconds * 1000),"
                       " coalesce(i.model, ''), coalesce(i.key_name, ''), coalesce(i.route, '')",
                       usage_slot_sums, USAGE_SLOT_WHICH_COUNT, USAGE_SLOT_SUM_COUNT},
};
/* clang-format on */

str usage_next_name(str *names)
{
    size_t end = str_find(*names, STR(", "));
    str name = str_slice(*names, 0, end == STR_NONE ? names->n : end);

    *names = end == STR_NONE ? STR("") : str_slice(*names, end + 2, names->n);
    return name;
}

static void usage_write_classes(struct buf *out)
{
    for (size_t i = 0; i < USAGE_LATENCY_COUNT; i++) {
        buf_add(out, STR(" CASE WHEN i.status < 400 AND i.error_code IS NULL"));
        if (i > 0)
            buf_printf(
                out, " AND i.ended_ms - i.started_ms >= %lld", (long long)usage_latency_ms[i - 1]);
        if (i < COUNT_OF(usage_latency_ms))
            buf_printf(
                out, " AND i.ended_ms - i.started_ms < %lld", (long long)usage_latency_ms[i]);
        buf_add(out, STR(" THEN 1 ELSE 0 END,"));
    }
}

void usage_write_call(const struct usage_table *t, struct buf *out)
{
    str sums = str_c(t->call_sums);
    size_t at = str_find(sums, STR("@"));

    buf_printf(out, "%s, " STR_FMT, t->call_which, STR_ARG(str_slice(sums, 0, at)));
    if (at == STR_NONE)
        return;
    usage_write_classes(out);
    buf_add(out, str_slice(sums, at + 1, sums.n));
}

void usage_write_add(const struct usage_table *t, struct buf *out)
{
    str names = str_c(t->sums), name;

    assert(names.n > 0 && t->sum_count > 0);
    buf_printf(out, " ON CONFLICT (%s) DO UPDATE SET ", t->which);
    while ((name = usage_next_name(&names)).n)
        buf_printf(out,
                   STR_FMT " = %s." STR_FMT " + excluded." STR_FMT "%s",
                   STR_ARG(name),
                   t->name,
                   STR_ARG(name),
                   STR_ARG(name),
                   names.n ? ", " : "");
}
