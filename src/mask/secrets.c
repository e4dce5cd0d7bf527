/* secrets.c - manifests of Kubernetes Secrets in plain text.
 *
 * YAML is read by its lines and columns: the mapping that contains "kind: Secret" is its region,
 * and the values below data, stringData and binaryData in it are masked. A line may also end in an
 * escaped line feed, if the YAML is in an escaped string. JSON in a text is read by its braces.
 * Neither is parsed, because manifests in texts are usually partial, quoted or cut off.
 *
 * In kubectl's order (apiVersion, data, kind), data comes before its kind is known. So a stream
 * buffers it, and also a Secret that has not ended yet.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define LOOK_BACK ((size_t)1 << 20)
#define READS_MAX 32 /* how often a text may be read on average */

struct line {
    size_t from, to; /* without the line feed */
    size_t next;     /* the start of the next line; `to`, if this line is the last */
    size_t text;     /* the first character after blanks and the dash of a list */
    size_t col;      /* the column of `text` */
    size_t dash;     /* the column of the dash; col without one */
    bool whole;      /* the line ends with a line feed */
};

static const char *const data_names[] = {"data", "stringData", "binaryData"};

static void mask_secrets_add(struct mask_spans *out, const struct mask_view *t, size_t from,
                             size_t to)
{
    while (from < to && char_is_space(t->s.p[from]))
        from++;
    while (to > from && (char_is_space(t->s.p[to - 1]) || t->s.p[to - 1] == '\\'))
        to--;
    if (from < t->floor)
        from = t->floor;
    if (from < to)
        mask_spans_add(out, (struct mask_span){from, to, MASK_RULE_KUBERNETES, from, {0}});
}

/* ---- lines ---- */

/* The size of the line end at `at`, or 0. */
static size_t mask_secrets_line_break(str s, size_t at)
{
    if (s.p[at] == '\n')
        return 1;
    return s.p[at] == '\\' && at + 1 < s.n && s.p[at + 1] == 'n' ? 2 : 0;
}

static struct line mask_secrets_line_at(str s, size_t from)
{
    struct line l = {.from = from, .to = from};
    size_t size = 0, i;

    while (l.to < s.n && !(size = mask_secrets_line_break(s, l.to)))
        l.to++;
    l.next = l.to + size;
    l.whole = size > 0;
    for (i = from; i < l.to && s.p[i] == ' '; i++)
        ;
    l.dash = i - from;
    while (i + 1 < l.to && s.p[i] == '-' && s.p[i + 1] == ' ')
        for (i++; i < l.to && s.p[i] == ' '; i++)
            ;
    l.text = i;
    l.col = i - from;
    assert(l.dash <= l.col && l.text <= l.to && l.to <= l.next && l.next <= s.n);
    return l;
}

static size_t mask_line_start(str s, size_t at)
{
    assert(at <= s.n);
    while (at > 0 && s.p[at - 1] != '\n' && !(at > 1 && s.p[at - 1] == 'n' && s.p[at - 2] == '\\'))
        at--;
    return at;
}

static bool mask_secrets_is_blank(const struct line *l)
{
    return l->text == l->to;
}

static bool mask_secrets_has_prefix(str s, size_t at, const char *word)
{
    return str_starts(str_slice(s, at, s.n), str_c(word));
}

/* Whether the line ends a document: ---, ... or ```. */
static bool mask_is_mark(str s, const struct line *l)
{
    return mask_secrets_has_prefix(s, l->text, "```") ||
           (l->col == 0 && (mask_secrets_has_prefix(s, l->text, "---") ||
                            mask_secrets_has_prefix(s, l->text, "...")));
}

/* If the line begins with this member: the position of its value, else 0. */
static size_t mask_secrets_value_of(str s, const struct line *l, str name)
{
    size_t at = l->text;
    bool quoted = at < l->to && (s.p[at] == '"' || s.p[at] == '\'');

    at += quoted;
    if (!mask_secrets_has_prefix(s, at, name.p) || at + name.n + quoted >= l->to + 1)
        return 0;
    at += name.n + quoted;
    return at < l->to && s.p[at] == ':' && (at + 1 == l->to || char_is_space(s.p[at + 1])) ? at + 1
                                                                                           : 0;
}

static size_t mask_data_of(str s, const struct line *l)
{
    size_t at = 0;

    for (size_t i = 0; i < COUNT_OF(data_names) && !at; i++)
        at = mask_secrets_value_of(s, l, str_c(data_names[i]));
    return at;
}

/* ---- YAML ---- */

/* The position after the colon of any member; 0: the line has none. */
static size_t mask_any_value(str s, const struct line *l)
{
    for (size_t i = l->text; i < l->to; i++)
        if (s.p[i] == ':' && (i + 1 == l->to || char_is_space(s.p[i + 1])))
            return i + 1;
    return 0;
}

static bool mask_is_block(str s, size_t at, size_t to)
{
    while (at < to && char_is_space(s.p[at]))
        at++;
    if (at == to || (s.p[at] != '|' && s.p[at] != '>'))
        return at == to;
    for (at++; at < to; at++)
        if (!strchr("+-0123456789 \r", s.p[at]))
            return false;
    return true;
}

/* Masks the deeper lines below a line: the values of members, and whole lines that are not members.
 * Returns the end. */
static size_t mask_take_below(const struct mask_view *t, size_t at, size_t end, size_t col,
                              struct mask_spans *out)
{
    size_t child = STR_NONE;

    while (at < end) {
        struct line l = mask_secrets_line_at(t->s, at);
        size_t value;

        if (!mask_secrets_is_blank(&l)) {
            if (l.dash <= col)
                break;
            child = child == STR_NONE ? l.col : child;
            value = l.col <= child ? mask_any_value(t->s, &l) : 0;
            if (!value || !mask_is_block(t->s, value, l.to))
                mask_secrets_add(out, t, value ? value : l.text, l.to);
        }
        if (l.next == l.to)
            return end;
        at = l.next;
    }
    return at;
}

static void mask_take_region(const struct mask_view *t, size_t from, size_t end, size_t col,
                             bool list, struct mask_spans *out)
{
    for (size_t at = from; at < end;) {
        struct line l = mask_secrets_line_at(t->s, at);
        size_t value = l.col == col || list ? mask_data_of(t->s, &l) : 0;
        size_t applied = str_find(str_slice(t->s, l.from, l.to), STR("last-applied-configuration"));

        if (!value && applied != STR_NONE)
            value = mask_any_value(t->s, &l);
        if (l.next == l.to)
            at = end;
        else
            at = l.next;
        if (!value)
            continue;
        if (!mask_is_block(t->s, value, l.to))
            mask_secrets_add(out, t, value, l.to);
        at = mask_take_below(t, at, end, l.col, out);
    }
}

/* The mapping that contains a line: from its first line to the end of its last. */
static size_t region_start(str s, const struct line *l)
{
    size_t from = l->from;

    assert(from <= s.n);
    if (l->dash < l->col)
        return from;
    while (from > 0 && l->from - from < LOOK_BACK) {
        size_t end = from - (s.p[from - 1] == '\n' ? 1 : 2);
        struct line up = mask_secrets_line_at(s, mask_line_start(s, end));

        if (mask_is_mark(s, &up) || (!mask_secrets_is_blank(&up) && up.col < l->col))
            break;
        from = up.from;
        if (up.dash < up.col && up.col == l->col)
            break;
    }
    return from;
}

static size_t region_end(str s, const struct line *l, bool *open)
{
    size_t at = l->next;

    *open = l->next == l->to;
    while (!*open) {
        struct line down = mask_secrets_line_at(s, at);

        if (mask_is_mark(s, &down) || (!mask_secrets_is_blank(&down) && down.dash < l->col))
            break;
        *open = down.next == down.to;
        at = down.next;
    }
    assert(l->next <= at && at <= s.n);
    return at;
}

static void mask_secrets_hold(struct mask_spans *out, const struct mask_view *t, size_t at,
                              size_t col)
{
    mask_spans_hold(out,
                    at > t->floor ? at : t->floor,
                    MASK_RULE_KUBERNETES,
                    (struct mask_open){.end = MASK_END_OUTDENT, .n = col});
}

/* Whether a line begins with this member, after blanks, dashes and a quote. */
static bool mask_secrets_begins_line(str s, size_t at)
{
    if (at > 0 && !char_is_alnum(s.p[at - 1]) && !char_is_space(s.p[at - 1]))
        at--;
    while (at > 0 && (s.p[at - 1] == ' ' || s.p[at - 1] == '-'))
        at--;
    return at == 0 || s.p[at - 1] == '\n' || (at > 1 && s.p[at - 1] == 'n' && s.p[at - 2] == '\\');
}

/* A region of YAML that was already read; another "kind" in it is skipped. */
struct region {
    size_t from, end, col;
    bool list;
};

/* Returns about how many bytes were read. */
static size_t mask_take_yaml(const struct mask_view *t, size_t kind, bool list, struct region *done,
                             struct mask_spans *out)
{
    struct line l;
    size_t from, end;
    bool open;

    if (!mask_secrets_begins_line(t->s, kind))
        return 0; /* a sentence about Secrets, not a manifest */
    l = mask_secrets_line_at(t->s, mask_line_start(t->s, kind));
    if (l.text != kind && !(l.text + 1 == kind && !char_is_alnum(t->s.p[l.text])))
        return 0;
    if (l.from >= done->from && l.from < done->end && l.col == done->col && done->list >= list)
        return l.to - l.from;
    from = region_start(t->s, &l);
    end = region_end(t->s, &l, &open);
    assert(from <= l.from && l.from <= end && end <= t->s.n);
    *done = (struct region){from, end, l.col, list};
    if (open && !t->final)
        mask_secrets_hold(out, t, from, l.col);
    else
        mask_take_region(t, from, end, l.col, list, out);
    return 4 * (end - from);
}

/* ---- JSON ---- */

/* The position of the brace that contains `at`, or STR_NONE. */
static size_t brace_before(str s, size_t at)
{
    size_t depth = 0, from = at;

    while (at > 0 && from - at < LOOK_BACK) {
        char c = s.p[--at];

        if (c == '}')
            depth++;
        else if (c == '{' && depth-- == 0)
            return at;
    }
    return STR_NONE;
}

/* The position after the brace that closes the one at `at`; s.n if none does. */
static size_t brace_end(str s, size_t at)
{
    size_t depth = 0;

    assert(at < s.n && s.p[at] == '{');
    for (; at < s.n; at++) {
        if (s.p[at] == '{')
            depth++;
        else if (s.p[at] == '}' && --depth == 0)
            return at + 1;
    }
    return s.n;
}

/* A string that begins at `at`, with its backslashes: where it ends, and its text. */
static size_t mask_string_at(str s, size_t at, size_t end, size_t *from, size_t *to)
{
    size_t slashes = 0, run = 0;

    assert(end <= s.n);
    while (at < end && s.p[at] == '\\') {
        slashes++;
        at++;
    }
    if (at >= end || s.p[at] != '"')
        return 0;
    for (*from = ++at; at < end; at++) {
        if (s.p[at] == '"' && (slashes ? run <= slashes : run % 2 == 0))
            break;
        run = s.p[at] == '\\' ? run + 1 : 0;
    }
    *to = at < end && run <= at ? at - (slashes ? run : 0) : at;
    return at < end ? at + 1 : end;
}

/* Masks every string after a colon. */
static void mask_take_strings(const struct mask_view *t, size_t at, size_t end,
                              struct mask_spans *out)
{
    str s = t->s;

    assert(end <= s.n);
    while (at < end) {
        size_t from = 0, to = 0, next;

        if (s.p[at++] != ':')
            continue;
        while (at < end && char_is_space(s.p[at]))
            at++;
        next = mask_string_at(s, at, end, &from, &to);
        if (!next)
            continue;
        mask_secrets_add(out, t, from, to);
        at = next;
    }
}

/* Returns about how many bytes were read. */
static size_t mask_take_json(const struct mask_view *t, size_t from, struct mask_spans *out)
{
    size_t end = brace_end(t->s, from);

    assert(from < end);
    if (end == t->s.n && !t->final) {
        mask_secrets_hold(out, t, from, 0);
        return end - from;
    }
    for (size_t i = from; i < end; i++) {
        size_t name, to, after;
        str key;
        bool data = false;

        if ((t->s.p[i] != '"' && t->s.p[i] != '\\') ||
            !(after = mask_string_at(t->s, i, end, &name, &to)))
            continue;
        key = str_slice(t->s, name, to);
        while (key.n && key.p[key.n - 1] == '\\')
            key.n--;
        for (size_t k = 0; k < COUNT_OF(data_names); k++)
            data |= str_eq(key, str_c(data_names[k]));
        i = after - 1;
        while (after < end && char_is_space(t->s.p[after]))
            after++;
        if (after >= end || t->s.p[after] != ':')
            continue;
        if (data) {
            size_t open = after + 1, close;

            while (open < end && char_is_space(t->s.p[open]))
                open++;
            close = open < end && t->s.p[open] == '{' ? brace_end(t->s, open) : end;
            mask_take_strings(t,
                              open < end && t->s.p[open] == '{' ? open : after,
                              close < end ? close : end,
                              out);
            i = close - 1;
        } else if (str_ends(key, STR("last-applied-configuration"))) {
            size_t stop = str_find(str_slice(t->s, after, end), STR("\n"));

            stop = stop == STR_NONE ? end : after + stop;
            mask_take_strings(t, after, stop, out);
            i = stop - 1;
        }
    }
    return 2 * (end - from);
}

/* ---- searching ---- */

/* After "kind": a colon, quotes, and Secret or SecretList. */
static bool mask_is_secret(str s, size_t at, bool *list)
{
    at += 4;
    while (at < s.n && strchr("\\\"'", s.p[at]))
        at++;
    if (at >= s.n || s.p[at] != ':')
        return false;
    for (at++; at < s.n && (char_is_space(s.p[at]) || strchr("\\\"'", s.p[at])); at++)
        ;
    if (!mask_secrets_has_prefix(s, at, "Secret"))
        return false;
    *list = mask_secrets_has_prefix(s, at, "SecretList");
    at += *list ? 10 : 6;
    return at >= s.n || (!char_is_alnum(s.p[at]) && s.p[at] != '-' && s.p[at] != '_');
}

/* Whether the manifest with this apiVersion has begun but its kind is not known yet: its data may
 * be secret, so a stream buffers it. Returns about how many bytes were read. */
static size_t mask_hold_unknown_one(const struct mask_view *t, size_t api, struct mask_spans *out)
{
    str s = t->s;
    size_t from, end;
    struct line l;
    bool open, list;

    if (api > 0 && s.p[api - 1] == '"' && (from = brace_before(s, api)) != STR_NONE) {
        end = brace_end(s, from);
        if (end == s.n && str_find(str_slice(s, from, s.n), STR("\"kind")) == STR_NONE)
            mask_secrets_hold(out, t, from, 0);
        return end - from;
    }
    l = mask_secrets_line_at(s, mask_line_start(s, api));
    if (l.text != api)
        return l.to - l.from;
    end = region_end(s, &l, &open);
    for (size_t k = l.from; open && k < end;) {
        struct line one = mask_secrets_line_at(s, k);

        if (one.col == l.col && mask_secrets_value_of(s, &one, STR("kind")) && one.whole)
            open = mask_is_secret(s, one.text, &list);
        k = one.next == one.to ? end : one.next;
    }
    if (open)
        mask_secrets_hold(out, t, l.from, l.col);
    return end - l.from;
}

static void mask_hold_unknown(const struct mask_view *t, struct mask_spans *out)
{
    size_t left = READS_MAX * t->s.n, at = 0, i, read;

    while ((i = str_find_rare(str_slice(t->s, at, t->s.n), STR("apiVersion"), 3)) != STR_NONE) {
        read = mask_hold_unknown_one(t, at + i, out);
        if (read > left) {
            mask_secrets_hold(out, t, t->floor, 0);
            return;
        }
        left -= read;
        at += i + 10;
    }
}

/* Returns about how many bytes were read. */
static size_t mask_take_manifest(const struct mask_view *t, size_t kind, bool list,
                                 struct region *done, struct mask_spans *out)
{
    size_t brace = STR_NONE, read = 0;

    if (kind > 0 && t->s.p[kind - 1] == '"') {
        brace = brace_before(t->s, kind);
        read = brace != STR_NONE ? kind - brace : kind < LOOK_BACK ? kind : LOOK_BACK;
    }
    return read + (brace != STR_NONE ? mask_take_json(t, brace, out)
                                     : mask_take_yaml(t, kind, list, done, out));
}

void mask_secrets_scan(const struct mask_view *t, struct mask_spans *out)
{
    str s = t->s;
    size_t left = READS_MAX * s.n, read;
    struct region done = {0};
    bool list;

    if (!t->final)
        mask_hold_unknown(t, out);
    if (str_find_rare(s, STR("Secret"), 0) == STR_NONE)
        return;
    for (size_t at = 0, i;
         at < s.n && (i = str_find(str_slice(s, at, s.n), STR("kind"))) != STR_NONE;) {
        size_t kind = at + i;

        at = kind + 4;
        if (!mask_is_secret(s, kind, &list))
            continue;
        read = mask_take_manifest(t, kind, list, &done, out);
        if (read > left) { /* not a text that people read: all of it is masked */
            if (t->final)
                mask_secrets_add(out, t, t->floor, s.n);
            else
                mask_secrets_hold(out, t, t->floor, 0);
            return;
        }
        left -= read;
    }
}
