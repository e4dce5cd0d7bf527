/* usage.c - what one call adds to its hour, in SQL.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/usage.h"

const char usage_of_call_which[] =
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

/* clang-format off */
const char usage_of_call_sums[] =
    "1, CASE WHEN i.status >= 400 OR i.error_code IS NOT NULL THEN 1 ELSE 0 END,"
    COUNTED("input_tokens") COUNTED("output_tokens")
    COUNTED("reasoning_tokens") COUNTED("cache_read_tokens")
    " CASE WHEN i.has_reasoning = 1 AND i.status < 400 AND i.complete = 1 AND (i.texts & 48) = 0"
    " THEN 1 ELSE 0 END,"
    " CASE WHEN i.reasoning_cut IS NOT NULL THEN 1 ELSE 0 END, i.has_reasoning,"
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
    " CASE WHEN i.cost_usd IS NULL THEN 0 ELSE 1 END, coalesce(i.cost_usd, 0)";
/* clang-format on */
