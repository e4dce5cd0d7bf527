/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/metrics_text.h"

#include "base/utf8.h"

static const char *const types[] = {
    [METRICS_COUNTER] = "counter",
    [METRICS_GAUGE] = "gauge",
    [METRICS_HISTOGRAM] = "histogram",
    [METRICS_SUMMARY] = "summary",
};

void metrics_family(struct metrics_text *t, const char *name, enum metrics_type type,
                    const char *help)
{
    assert(type < COUNT_OF(types));
    /* Only OpenMetrics tells a family's name from that of its samples. */
    const char *suffix = type == METRICS_COUNTER && !t->open ? "_total" : "";

    t->name = name;
    t->type = type;
    buf_printf(t->out, "# HELP %s%s %s\n", name, suffix, help);
    buf_printf(t->out, "# TYPE %s%s %s\n", name, suffix, types[type]);
}

/* value / unit as a decimal, without zeros at its end; OpenMetrics wants "1.0" as a bound. */
static void metrics_text_add_number(struct buf *out, uint64_t value, uint64_t unit, bool point)
{
    uint64_t rest = value % unit;
    char digits[24];
    size_t n = 0;

    assert(unit > 0);
    buf_printf(out, "%llu", (unsigned long long)(value / unit));
    for (; rest > 0; n++) {
        rest *= 10;
        digits[n] = (char)('0' + rest / unit);
        rest %= unit;
    }
    assert(n <= sizeof digits);
    if (n > 0 || point)
        buf_printf(out, ".%.*s", n > 0 ? (int)n : 1, n > 0 ? digits : "0");
}

void metrics_line(struct metrics_text *t, const char *suffix, const char *labels, uint64_t value,
                  uint64_t unit)
{
    buf_printf(t->out, "%s%s%s", t->name, suffix, t->type == METRICS_COUNTER ? "_total" : "");
    if (labels[0])
        buf_printf(t->out, "{%s}", labels);
    buf_add_c(t->out, ' ');
    metrics_text_add_number(t->out, value, unit, false);
    buf_add_c(t->out, '\n');
}

void metrics_value(struct metrics_text *t, const char *name, enum metrics_type type,
                   const char *help, uint64_t value, uint64_t unit)
{
    metrics_family(t, name, type, help);
    metrics_line(t, "", "", value, unit);
}

void metrics_count(struct metrics_text *t, const char *label, const char *word, uint64_t count)
{
    char labels[200];

    (void)snprintf(labels, sizeof labels, "%s=\"%s\"", label, word);
    metrics_line(t, "", labels, count, 1);
}

void metrics_observe(struct metrics_hist *h, const struct metrics_bounds *b, uint64_t value)
{
    size_t i = 0;

    assert(b->count < COUNT_OF(h->buckets));
    while (i < b->count && value > b->at[i])
        i++;
    metrics_add(&h->buckets[i], 1);
    metrics_add(&h->sum, value);
}

uint64_t metrics_hist_count(const struct metrics_hist *h)
{
    uint64_t n = 0;

    for (size_t i = 0; i < COUNT_OF(h->buckets); i++)
        n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
    return n;
}

void metrics_hist_lines(struct metrics_text *t, const char *labels, const struct metrics_hist *h,
                        const struct metrics_bounds *b)
{
    const char *comma = labels[0] ? "," : "";
    uint64_t n = 0;

    assert(b->count < COUNT_OF(h->buckets));
    for (size_t i = 0; i <= b->count; i++) {
        n += atomic_load_explicit(&h->buckets[i], memory_order_relaxed);
        buf_printf(t->out, "%s_bucket{%s%sle=\"", t->name, labels, comma);
        if (i < b->count)
            metrics_text_add_number(t->out, b->at[i], b->unit, t->open);
        else
            buf_add(t->out, STR("+Inf"));
        buf_printf(t->out, "\"} %llu\n", (unsigned long long)n);
    }
    metrics_line(t, "_sum", labels, atomic_load_explicit(&h->sum, memory_order_relaxed), b->unit);
    metrics_line(t, "_count", labels, n, 1);
}

void metrics_label(struct buf *labels, const char *name, str value)
{
    struct buf clean;

    buf_init(&clean, 3 * METRICS_LABEL_MAX); /* a bad byte becomes three good ones */
    (void)utf8_copy(&clean, utf8_cut_size(value, METRICS_LABEL_MAX));
    buf_printf(labels, "%s%s=\"", labels->n > 0 ? "," : "", name);
    for (size_t i = 0; i < clean.n; i++) {
        char c = clean.p[i];

        if (c == '\n')
            buf_add(labels, STR("\\n"));
        else if (c == '\\' || c == '"')
            buf_printf(labels, "\\%c", c);
        else
            buf_add_c(labels, c == '\0' || c == '\r' ? ' ' : c);
    }
    buf_add_c(labels, '"');
    buf_release(&clean);
}

void metrics_end(struct metrics_text *t)
{
    if (t->open)
        buf_add(t->out, STR("# EOF\n"));
}
