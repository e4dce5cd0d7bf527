/* A time that was parsed survives formatting and parsing, and its text is the same as that of the C
 * library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(int64_t wall_ms)
{
    time_t seconds = (time_t)((wall_ms - CLOCK_WALL_MS_MIN) / 1000 + CLOCK_WALL_MS_MIN / 1000);
    char out[CLOCK_TEXT_SIZE], want[64];
    int64_t back = 0;
    struct tm tm;
    bool ok;

    clock_format(wall_ms, out);
    assert(gmtime_r(&seconds, &tm));
    snprintf(want,
             sizeof want,
             "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
             tm.tm_year + 1900,
             tm.tm_mon + 1,
             tm.tm_mday,
             tm.tm_hour,
             tm.tm_min,
             tm.tm_sec,
             (int)((wall_ms - CLOCK_WALL_MS_MIN) % 1000));
    assert(strcmp(out, want) == 0);
    ok = clock_parse(str_c(out), &back);
    assert(ok && back == wall_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char out[CLOCK_TEXT_SIZE], duration[CLOCK_DURATION_SIZE];
    int64_t at = 0;
    uint64_t ns = 0;

    if (clock_parse((str){(const char *)data, size}, &at)) {
        assert(at >= CLOCK_WALL_MS_MIN && at <= CLOCK_WALL_MS_MAX);
        check_text(at);
    } else {
        assert(at == 0);
    }
    if (size < sizeof at)
        return 0;
    memcpy(&at, data, sizeof at);
    memcpy(&ns, data, sizeof ns);
    clock_duration(ns, duration);
    clock_format(at, out);
    if (at >= CLOCK_WALL_MS_MIN && at <= CLOCK_WALL_MS_MAX)
        check_text(at);
    return 0;
}
