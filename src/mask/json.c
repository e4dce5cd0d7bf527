/* json.c - masks the unescaped values of parsed JSON; the result is JSON again.
 *
 * The tape is in document order, so one walk writes the changes and copies the bytes between them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"

#include "mask/internal.h"

#define SMALL ((size_t)1 << 20)
#define OPAQUE_MIN 64
#define BROKEN_MAX ((size_t)1 << 32) /* more than a masked body can have */

struct walk {
    const struct mask *m;
    const struct json *doc;
    struct arena arena; /* holds one text at a time */
    struct buf *out;
    struct buf text; /* a masked value, not yet quoted */
    size_t copied;   /* bytes of the source that are already copied or replaced */
    size_t lead;     /* no lead that counts ends before this position of the source */
    bool changed;
    unsigned depth; /* levels of JSON inside strings */
    struct mask_counts *counts;
};

/* Facts about the place of a value. */
struct place {
    size_t rule;  /* every value is masked by this rule; MASK_RULES_MAX: none */
    bool numbers; /* numbers are masked, too */
    bool secret;  /* inside a Kubernetes Secret */
    bool secrets; /* the same for all elements of a list */
};

static const struct place anywhere = {MASK_RULES_MAX, false, false, false};

static bool mask_json_at(const struct mask *m, str in, unsigned depth, struct buf *out,
                         struct mask_counts *counts);

/* ---- changes ---- */

static void mask_json_replace_value(struct walk *w, const struct json_node *v, str with)
{
    assert(v->at + v->size <= w->doc->src.n);
    assert(v->at >= w->copied); /* in the order of the source */
    buf_add(w->out, str_slice(w->doc->src, w->copied, v->at));
    (void)json_quote(w->out, with);
    w->copied = v->at + v->size;
    w->changed = true;
}

static void mask_whole(struct walk *w, const struct json_node *v, size_t rule)
{
    assert(rule < w->m->rule_count);
    mask_json_replace_value(w, v, w->m->placeholders[rule]);
    mask_count(w->counts, rule);
}

/* ---- values ---- */

static str mask_json_text_of(struct walk *w, const struct json_node *v)
{
    str s = STR("");

    arena_reset(&w->arena);
    return json_text(w->doc, v, &w->arena, &s) ? s : STR("");
}

/* Whether the name is at the end of its string, so no value follows it. */
static bool mask_name_alone(str src, size_t at)
{
    at = mask_name_end(src, at);
    return at < src.n && src.p[at] == '"';
}

/* Whether the rule of a row cannot match at the lead that ends there: a name without a value, or
 * digits that are not a card number. A JSON number ends with its value, so its source text can be
 * checked directly. */
static bool mask_finds_nothing(const struct mask_row *row, str src, size_t end)
{
    const struct mask_view t = {src, true, 0};
    struct mask_span one;

    if (row->match == mask_match_assign)
        return mask_name_alone(src, end + 1);
    return row->match == mask_match_card && end >= 3 &&
           mask_match_card(&t, end - 3, NULL, &one) == MASK_NO;
}

/* The first position from `from` on where a lead ends that may belong to a match in its string, or
 * the size of the source. */
static size_t mask_next_lead(const struct mask *m, str src, size_t from)
{
    const struct mask_leads *l = &m->leads;
    const struct mask_hit *hit;
    struct mask_hits hits;

    mask_hits_init(&hits, from);
    for (; (hit = mask_hits_next(l, src, from, &hits)); from = mask_go_on(src, hit->end))
        for (uint64_t ends = hit->ends; ends; ends &= ends - 1) {
            size_t b = mask_bucket(ends);

            for (size_t i = l->first[b]; i < l->first[b + 1]; i++)
                if (mask_lead_is(l, i, src, hit->end) &&
                    !mask_finds_nothing(l->rows[i], src, hit->end))
                    return hit->end;
        }
    return src.n;
}

/* Whether rules can find anything in a value's source text. Call it in the order of the source, so
 * that the source is scanned once. */
static bool mask_json_may_have(struct walk *w, const struct json_node *v)
{
    assert(v->at + v->size <= w->doc->src.n);
    if (w->m->custom_count || (v->kind == JSON_STRING && v->escaped))
        return true;
    if (w->lead < v->at)
        w->lead = mask_next_lead(w->m, w->doc->src, v->at);
    return w->lead < v->at + v->size;
}

static bool mask_is_base64(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!mask_is(MASK_C_B64, s.p[i]) && s.p[i] != '-' && s.p[i] != '_')
            return false;
    return s.n >= OPAQUE_MIN;
}

/* Whether s is data for machines only, and not a key by its first characters. */
static bool mask_is_opaque(const struct mask *m, str s)
{
    const struct mask_view t = {str_slice(s, 0, 256), true, 0};
    struct mask_spans f = {0};
    bool key;

    if (!mask_is_base64(s))
        return false;
    mask_scan(m, &t, &f);
    key = f.n > 0 && f.p[0].from == 0;
    mask_spans_release(&f);
    return !key;
}

static bool mask_is_data_url(str s)
{
    size_t at = str_find(str_slice(s, 0, 256), STR(";base64,"));

    if (at == STR_NONE || !str_starts(s, STR("data:")))
        return false;
    for (size_t i = 0; i < at; i++)
        if (char_is_space(s.p[i]))
            return false;
    at = mask_run(s, at + 8, MASK_C_B64);
    return at == s.n; /* text after the data means that it is not data only */
}

static void walk_string(struct walk *w, const struct json_node *v)
{
    str s, inner;
    bool nested;

    assert(v->kind == JSON_STRING && w->depth <= MASK_NEST_MAX);
    if (!mask_json_may_have(w, v))
        return;
    s = mask_json_text_of(w, v);
    inner = str_trim(s);
    nested = inner.n > 1 && (inner.p[0] == '{' || inner.p[0] == '[' || inner.p[0] == '"');
    if (s.n < 4 || mask_is_data_url(s))
        return;
    buf_reset(&w->text);
    if (nested && w->depth < MASK_NEST_MAX
            ? mask_json_at(w->m, s, w->depth + 1, &w->text, w->counts)
            : mask_text(w->m, s, &w->text, w->counts))
        mask_json_replace_value(w, v, buf_full(&w->text) ? STR(MASK_LEFT_OUT) : buf_str(&w->text));
}

static void walk_number(struct walk *w, const struct json_node *v)
{
    assert(v->kind == JSON_NUMBER);
    if (v->size < 4 || !mask_json_may_have(w, v))
        return;
    buf_reset(&w->text);
    if (mask_text(w->m, json_raw(w->doc, v), &w->text, w->counts))
        mask_json_replace_value(w, v, buf_full(&w->text) ? STR(MASK_LEFT_OUT) : buf_str(&w->text));
}

static void walk_value(struct walk *w, const struct json_node *v, struct place p);

/* ---- members ---- */

/* {"type": "string"}: a schema that describes a password, not a password. */
static bool mask_is_schema(struct walk *w, const struct json_node *v)
{
    str names = STR("type $ref anyOf oneOf allOf enum const");

    while (names.n)
        if (json_find(w->doc, v, str_cut(&names, ' ')))
            return true;
    return false;
}

static bool mask_is_opaque_name(str key)
{
    return str_is_one_of(key,
                         "signature thought_signature thoughtSignature encrypted_content"
                         " encryptedContent b64_json file_data data");
}

/* {"name": "DB_PASSWORD", "value": "..."}. */
static bool names_secret(struct walk *w, const struct json_node *object, size_t *rule)
{
    str names = STR("name key Name Key header field"), s;
    bool number;

    assert(object->kind == JSON_OBJECT);
    while (names.n) {
        const struct json_node *v = json_find(w->doc, object, str_cut(&names, ' '));

        if (v && v->kind == JSON_STRING && (s = mask_json_text_of(w, v)).n &&
            mask_name_is_secret(s, rule, &number))
            return true;
    }
    return false;
}

/* What the name of a member implies for its value. */
static struct place mask_json_by_name(struct walk *w, const struct json_node *object, str key,
                                      const struct json_node *v, struct place p)
{
    size_t rule;
    bool numbers;

    if (p.rule != MASK_RULES_MAX)
        return p;
    if (p.secret && str_is_one_of(key, "data stringData binaryData"))
        return (struct place){MASK_RULE_KUBERNETES, true, true, false};
    if (p.secret && str_ends(key, STR("last-applied-configuration")))
        return (struct place){MASK_RULE_KUBERNETES, true, true, false};
    if (!(w->m->groups & MASK_CREDENTIALS))
        return p;
    if (mask_name_is_secret(key, &rule, &numbers) && !mask_is_schema(w, v)) {
        bool said = str_eq(key, STR("token")) && (json_find(w->doc, object, STR("logprob")) ||
                                                  json_find(w->doc, object, STR("bytes")));

        if (!said)
            return (struct place){rule, numbers, p.secret, false};
    }
    if ((str_eq(key, STR("value")) || str_eq(key, STR("Value"))) && v->kind < JSON_ARRAY &&
        names_secret(w, object, &rule))
        return (struct place){rule, true, p.secret, false};
    return p;
}

static void walk_member(struct walk *w, const struct json_node *object, const struct json_node *key,
                        struct place p)
{
    const struct json_node *v = json_value(key);
    struct place there;
    str name;
    bool opaque;

    assert(key->kind == JSON_STRING && object->kind == JSON_OBJECT);
    walk_string(w, key);
    name = mask_json_text_of(w, key);
    there = mask_json_by_name(w, object, name, v, p);
    name = mask_json_text_of(w, key); /* mask_json_by_name has overwritten it */
    opaque = there.rule == MASK_RULES_MAX && v->kind == JSON_STRING && mask_is_opaque_name(name);
    if (opaque && mask_is_opaque(w->m, mask_json_text_of(w, v)))
        return;
    if (p.secrets && !str_eq(mask_json_text_of(w, key), STR("items")))
        there.secrets = false;
    walk_value(w, v, there);
}

static void walk_object(struct walk *w, const struct json_node *v, struct place p)
{
    const struct json_node *kind = json_find(w->doc, v, STR("kind"));

    assert(v->kind == JSON_OBJECT);
    if (w->m->groups & MASK_KUBERNETES) {
        p.secret |= p.secrets || json_is(w->doc, kind, STR("Secret"));
        if (kind && !json_is(w->doc, kind, STR("Secret")))
            p.secret = false;
        p.secrets = json_is(w->doc, kind, STR("SecretList"));
    }
    JSON_FOREACH(k, w->doc, v)
        walk_member(w, v, k, p);
}

static void walk_value(struct walk *w, const struct json_node *v, struct place p)
{
    bool all = p.rule != MASK_RULES_MAX;

    switch (v->kind) {
    case JSON_STRING:
        if (all && v->size > 2 && !str_starts(json_raw(w->doc, v), STR("\"[MASKED:")))
            mask_whole(w, v, p.rule);
        else if (!all)
            walk_string(w, v);
        break;
    case JSON_NUMBER:
        if (all && p.numbers)
            mask_whole(w, v, p.rule);
        else
            walk_number(w, v);
        break;
    case JSON_ARRAY:
        JSON_FOREACH(i, w->doc, v)
            walk_value(w, i, p);
        break;
    case JSON_OBJECT:
        walk_object(w, v, p);
        break;
    default:
        break;
    }
}

/* ---- the whole value ---- */

/* A bit for each of the next 16 bytes that is a quote or a backslash. */
static inline uint32_t mask_marks_at(str s, size_t at)
{
    uint32_t bits = 0;

#if SIMD_HAS_16
    if (s.n - at >= 16) {
        simd16 v = simd_load(s.p + at);

        return simd_bits(simd_or(simd_eq(v, '"'), simd_eq(v, '\\')));
    }
#endif
    for (size_t i = 0; i < 16 && i < s.n - at; i++)
        bits |= (uint32_t)(s.p[at + i] == '"' || s.p[at + i] == '\\') << i;
    return bits;
}

/* Whether a member with this name, which has no escapes, needs no check of its value. */
static bool mask_name_says_nothing(str name)
{
    size_t rule;
    bool number;

    return !str_eq(name, STR("value")) && !str_eq(name, STR("Value")) &&
           !mask_name_is_secret(name, &rule, &number);
}

static inline bool mask_json_is_name(str src, size_t end)
{
    do
        end++;
    while (end < src.n && char_is_space(src.p[end]));
    return end < src.n && src.p[end] == ':';
}

/* Whether the source shows that the tree must be walked: it has an escape that may hide a lead, the
 * name of a secret, or a string without an end. */
static bool mask_says_something(const struct mask *m, str src)
{
    bool names = m->groups & MASK_CREDENTIALS;
    size_t from = 0; /* after the opening quote of the current string; 0: not in a string */
    size_t over = 0, slash = 0; /* after the last escape; the position of that escape */

    for (size_t i = 0; i < src.n; i += 16)
        for (uint32_t bits = mask_marks_at(src, i); bits; bits &= bits - 1) {
            size_t at = i + (size_t)__builtin_ctz(bits);

            if (src.p[at] == '\\') {
                if (at + 1 < src.n && (src.p[at + 1] == 'u' || src.p[at + 1] == '/'))
                    return true;
                slash = at;
                if (from && at >= over)
                    over = at + 2;
            } else if (!from) {
                from = at + 1;
            } else if (at >= over) {
                if (names && mask_json_is_name(src, at) &&
                    (slash >= from || !mask_name_says_nothing(str_slice(src, from, at))))
                    return true;
                from = 0;
            }
        }
    return names && from;
}

/* The same for a tree, whose names and escapes are already known. */
static bool mask_tree_says_something(const struct mask *m, const struct json *doc)
{
    bool names = m->groups & MASK_CREDENTIALS, escaped = false;

    for (size_t i = 0; i < doc->n; i++) {
        const struct json_node *v = &doc->nodes[i];

        escaped |= v->kind == JSON_STRING && v->escaped;
        if (v->kind != JSON_OBJECT || !names)
            continue;
        JSON_FOREACH(k, doc, v)
            if (k->escaped || !mask_name_says_nothing((str){doc->src.p + k->at + 1, k->size - 2}))
                return true;
    }
    return escaped && mask_says_something(m, doc->src);
}

/* Whether the text may have a match at all: it has a lead, an escape that could hide one, or a name
 * with other separators. */
static bool mask_worth_it(const struct mask *m, str in)
{
    struct mask_hits hits;

    mask_hits_init(&hits, 0);
    return m->custom_count || mask_hits_next(&m->leads, in, 0, &hits) || mask_says_something(m, in);
}

/* Whether valid JSON has nothing to mask, by its source text: no rule matches at its leads, and no
 * member has a secret name. This decides most bodies without walking the tree. If not, *lead is the
 * first lead that counts. doc may be NULL. */
static bool mask_is_clean(const struct mask *m, str src, const struct json *doc, size_t *lead)
{
    *lead = 0;
    if (m->custom_count)
        return false;
    *lead = mask_next_lead(m, src, 0);
    return *lead == src.n &&
           !(doc ? mask_tree_says_something(m, doc) : mask_says_something(m, src));
}

/* Parses the text if it may have a match. */
static bool mask_tree(const struct mask *m, const struct json *doc, unsigned depth, struct buf *out,
                      struct mask_counts *counts)
{
    struct walk w = {.m = m, .doc = doc, .out = out, .depth = depth, .counts = counts};
    str in = doc->src;

    assert(depth <= MASK_NEST_MAX);
    if (mask_is_clean(m, in, doc, &w.lead))
        return false;
    arena_init(&w.arena, 2 * in.n + SMALL);
    buf_init(&w.text, 32 * in.n + SMALL);
    walk_value(&w, json_root(doc), anywhere);
    assert(w.copied <= in.n);
    if (w.changed)
        buf_add(out, str_slice(in, w.copied, in.n));
    buf_release(&w.text);
    arena_release(&w.arena);
    return w.changed;
}

/* What an escape of JSON at `at` means, if that is a printable character, and its size; else 0. */
static size_t mask_json_unescape(str s, size_t at, char *out)
{
    unsigned n = 0;

    assert(s.p[at] == '\\');
    if (at + 1 < s.n && strchr("\\\"/", s.p[at + 1]) && s.p[at + 1]) {
        *out = s.p[at + 1];
        return 2;
    }
    if (at + 6 > s.n || s.p[at + 1] != 'u')
        return 0;
    for (size_t i = at + 2; i < at + 6; i++) {
        const char *digits = "0123456789abcdef", *d = strchr(digits, s.p[i] | 32);

        if (!d || !*d)
            return 0;
        n = 16 * n + (unsigned)(d - digits);
    }
    *out = (char)n;
    return n >= ' ' && n <= '~' ? 6 : 0;
}

static bool mask_json_unescape_all(str s, struct buf *out)
{
    bool some = false;

    buf_reset(out);
    for (size_t i = 0, n; i < s.n; i += n) {
        char c = s.p[i];

        n = c == '\\' ? mask_json_unescape(s, i, &c) : 0;
        some |= n > 0;
        n = n ? n : 1;
        buf_add_c(out, c);
    }
    return some;
}

/* JSON that was cut off has no tree: its escapes are removed level by level, and each level is
 * masked. */
static bool mask_json_broken(const struct mask *m, str in, struct buf *out,
                             struct mask_counts *counts)
{
    struct buf a, b, *now = &a, *next = &b, *last;
    size_t from = out->n;
    bool found = false;

    buf_init(now, BROKEN_MAX);
    buf_init(next, BROKEN_MAX);
    buf_add(now, in);
    for (unsigned depth = 0; depth <= MASK_NEST_MAX; depth++) {
        buf_reset(next);
        if (mask_text(m, buf_str(now), next, counts)) {
            found = true;
            out->n = from;
            buf_add(out, buf_str(next));
            last = now, now = next, next = last;
        }
        if (!mask_json_unescape_all(buf_str(now), next))
            break;
        last = now, now = next, next = last;
    }
    buf_release(&a);
    buf_release(&b);
    return found;
}

static bool mask_json_at(const struct mask *m, str in, unsigned depth, struct buf *out,
                         struct mask_counts *counts)
{
    str s = str_trim(in);
    struct json doc;
    struct err e;
    bool found;

    assert(depth <= MASK_NEST_MAX);
    if (s.n < 2 || (s.p[0] != '{' && s.p[0] != '[' && s.p[0] != '"'))
        return mask_text(m, in, out, counts);
    if (!mask_worth_it(m, in))
        return false;
    found = json_open(&doc, in, &e) ? mask_tree(m, &doc, depth, out, counts)
                                    : mask_json_broken(m, in, out, counts);
    json_release(&doc);
    return found;
}

bool mask_json(const struct mask *m, str in, struct buf *out, struct mask_counts *counts)
{
    return mask_json_at(m, in, 0, out, counts);
}

bool mask_json_doc(const struct mask *m, const struct json *doc, struct buf *out,
                   struct mask_counts *counts)
{
    return mask_tree(m, doc, 0, out, counts);
}

bool mask_json_sound(const struct mask *m, str in, struct buf *out, struct mask_counts *counts)
{
    size_t lead;

    return !mask_is_clean(m, in, NULL, &lead) && mask_json(m, in, out, counts);
}

bool mask_json_clean(const struct mask *m, str in)
{
    size_t lead;

    return mask_is_clean(m, in, NULL, &lead);
}

bool mask_json_doc_clean(const struct mask *m, const struct json *doc)
{
    size_t lead;

    return mask_is_clean(m, doc->src, doc, &lead);
}
