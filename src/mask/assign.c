/* assign.c - values known by the name before them.
 *
 *     password=x   "apiKey": "x"   \"token\":\"x\"   PASSWORD: x   --token x   <password>x</
 *     password is x   setPassword("x")   Password=x;Server=y   ?api_key=x&n=1
 *     - name: DB_PASSWORD
 *       value: x
 *
 * The filter finds a part of the name. The whole name is found around it, names.c decides whether
 * it names a secret, and the syntax before the value decides where the value ends: a quoted value
 * ends at the same quotes, another one at white space or at the separator of the next pair.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#define NAME_SIDE_MAX 64
#define BLANKS_MAX 16
#define LINE_MAX_SIZE 512
#define VALUE_HEAD 256 /* enough bytes of a value to recognize a reference or code */

struct place {
    const struct mask_view *t;
    size_t rule;
    size_t name_from, i; /* where the name begins; the current position */
    bool line;           /* the name begins its line */
    bool tight;          /* name=value */
    bool prose;          /* name is value */
    bool beside;         /* name value */
    bool equal;          /* name == value */
    bool header;         /* name: the rest of the line */
    bool short_of;       /* the text ends before the answer is known */
};

static char mask_assign_peek(struct place *p, size_t at)
{
    if (at < p->t->s.n)
        return p->t->s.p[at];
    p->short_of |= !p->t->final;
    return '\0';
}

static void mask_skip_of(struct place *p, const char *set, size_t max)
{
    size_t from = p->i;
    char c;

    while (p->i - from < max && (c = mask_assign_peek(p, p->i)) != '\0' && strchr(set, c))
        p->i++;
    assert(p->i <= p->t->s.n); /* never past the end of the text */
}

static bool mask_assign_word_at(struct place *p, size_t at, const char *word)
{
    enum mask_found f = mask_goes_on(p->t, at, str_c(word));

    p->short_of |= f == MASK_MORE;
    return f == MASK_YES;
}

/* ---- the name ---- */

static bool mask_begins_line(str s, size_t at)
{
    assert(at <= s.n);
    while (at > 0 && (s.p[at - 1] == ' ' || s.p[at - 1] == '\t' || s.p[at - 1] == '-' ||
                      s.p[at - 1] == '"' || s.p[at - 1] == '*'))
        at--;
    return at == 0 || s.p[at - 1] == '\n' || (at >= 2 && s.p[at - 1] == 'n' && s.p[at - 2] == '\\');
}

/* The whole name around `at`. A name may be several words: "api key". */
static bool mask_name_around(struct place *p, size_t at)
{
    str s = p->t->s;
    size_t from = at, end = mask_name_end(s, at);
    bool number;

    if (end == STR_NONE)
        return false;
    while (from > 0 && at - from < NAME_SIDE_MAX && mask_is(MASK_C_DOTTED, s.p[from - 1]))
        from--;
    assert(from <= at && at <= end);
    if (from > 1 && s.p[from - 1] == ' ' && char_is_letter(s.p[from - 2])) {
        size_t before = from - 1;

        while (before > 0 && from - before < 16 && char_is_letter(s.p[before - 1]))
            before--;
        if (mask_goes_on(p->t, from, STR("key")) == MASK_YES)
            from = before;
    }
    (void)mask_assign_peek(p, end);
    if (!mask_name_is_secret(str_slice(s, from, end), &p->rule, &number))
        return false;
    p->i = end;
    p->name_from = from;
    p->line = mask_begins_line(s, from);
    p->header = end - from >= 6 && (str_ends(str_slice(s, 0, end), STR("orization")) ||
                                    str_ends(str_slice(s, 0, end), STR("ORIZATION")) ||
                                    str_ends(str_slice(s, 0, end), STR("ookie")));
    return true;
}

/* ---- from the name to the value ---- */

static bool mask_is_flag(const struct place *p)
{
    str s = p->t->s;

    return p->name_from < s.n && s.p[p->name_from] == '-' &&
           (p->name_from == 0 || !char_is_alnum(s.p[p->name_from - 1]));
}

/* After "is", "was" or "to" the value counts as a secret only if it looks like one. */
static bool prose_behind(struct place *p)
{
    static const char *const words[] = {
        "is ", "was ", "to ", "of ", "is: ", "is now ", "ist ", "est ", "es "};

    for (size_t k = 0; k < COUNT_OF(words); k++)
        if (mask_assign_word_at(p, p->i, words[k])) {
            p->i += strlen(words[k]);
            assert(p->i <= p->t->s.n);
            p->prose = true;
            return true;
        }
    /* password hunter2 */
    p->prose = p->beside = p->rule == MASK_RULE_PASSWORD || p->rule == MASK_RULE_API_KEY;
    return p->beside;
}

/* name: DB_PASSWORD, followed on the next line or after a comma by value: x */
static bool pair_behind(struct place *p)
{
    p->i = mask_skip_breaks(p->t->s, p->i);
    if (!mask_assign_word_at(p, p->i, "value"))
        return false;
    p->i += 5;
    mask_skip_of(p, "\\\"'", 8);
    if (mask_assign_peek(p, p->i) != ':' && mask_assign_peek(p, p->i) != '=')
        return false;
    p->i++;
    return true;
}

/* ("password", ...: the name is the first of several. */
static bool mask_is_argument(const struct place *p)
{
    return p->name_from > 1 && strchr("([", p->t->s.p[p->name_from - 2]);
}

static bool mask_sign_behind(struct place *p)
{
    size_t name_end = p->i, quotes, after;
    bool quoted, close;
    char c;

    assert(p->name_from < p->i && p->i <= p->t->s.n);
    mask_skip_of(p, "\\\"'`])*", 12);
    quotes = p->i - name_end;
    quoted = quotes > 0 && p->i > 0 && strchr("\"'", p->t->s.p[p->i - 1]);
    mask_skip_of(p, " \t", BLANKS_MAX);
    close = p->i == name_end;
    c = mask_assign_peek(p, p->i);
    if (c == ':' || c == '=') {
        p->i++;
        p->tight = close && c == '=' && !char_is_space(mask_assign_peek(p, p->i));
        p->equal = c == '=' && mask_assign_peek(p, p->i) == '=';
        mask_skip_of(p, "=>~:", 2);
        return true;
    }
    if (c == '-' && mask_assign_peek(p, p->i + 1) == '>') {
        p->i += 2;
        return true;
    }
    /* The wide : and = of Chinese and Japanese texts. */
    if (mask_assign_word_at(p, p->i, "\xEF\xBC\x9A") ||
        mask_assign_word_at(p, p->i, "\xEF\xBC\x9D")) {
        p->i += 3;
        return true;
    }
    if (c == '%' && (mask_assign_word_at(p, p->i, "%3d") || mask_assign_word_at(p, p->i, "%3D") ||
                     mask_assign_word_at(p, p->i, "%3a") || mask_assign_word_at(p, p->i, "%3A"))) {
        p->i += 3;
        return true;
    }
    if (c == 'u' && quotes > 0 && p->t->s.p[p->i - 1] == '\\' &&
        (mask_assign_word_at(p, p->i, "u003d") || mask_assign_word_at(p, p->i, "u003a"))) {
        p->i += 5; /* = and : in JSON */
        p->tight = !char_is_space(mask_assign_peek(p, p->i));
        return true;
    }
    if (c == '>' && p->name_from > 0 && p->t->s.p[p->name_from - 1] == '<') {
        p->i++;
        return true;
    }
    if ((c == '(' && close) || (c == ',' && quoted && mask_is_argument(p))) {
        size_t was = p->i++;

        mask_skip_of(p, " ", 4);
        c = mask_assign_peek(p, p->i);
        if (c == '"' || c == '\'' || c == '\\')
            return true;
        p->i = was;
    }
    if (mask_is_flag(p) && p->i > name_end && char_is_space(p->t->s.p[p->i - 1]))
        return true;
    after = p->i;
    p->i = name_end;
    if (pair_behind(p))
        return true;
    p->i = after;
    return p->i > name_end && char_is_space(p->t->s.p[p->i - 1]) && prose_behind(p);
}

/* ---- the value ---- */

static str mask_assign_lower(str s, char out[32])
{
    size_t n = s.n < 32 ? s.n : 32;

    for (size_t i = 0; i < n; i++)
        out[i] = (char)(char_is_letter(s.p[i]) ? s.p[i] | 32 : s.p[i]);
    return (str){out, n};
}

/* Whether v is a placeholder ("***", "<password>"), or says that there is no value ("null"). */
static bool mask_stands_for(str v)
{
    static const char *const begins[] = {"${",
                                         "$(",
                                         "{{",
                                         "[masked",
                                         "***",
                                         "...",
                                         "%s",
                                         "%(",
                                         "os.environ",
                                         "process.env",
                                         "getenv"};
    static const char words[] = "null none nil true false undefined str string optional bytes "
                                "<redacted> | > |- >- { [ &";
    char bytes[32];
    str s;

    while (v.n > 1 && strchr(",;)", v.p[v.n - 1]))
        v.n--;
    s = mask_assign_lower(v, bytes);
    for (size_t i = 0; i < COUNT_OF(begins); i++)
        if (str_starts(s, str_c(begins[i])))
            return true;
    return v.n <= 32 && str_is_one_of(s, words);
}

static bool mask_is_odd(str v)
{
    for (size_t i = 0; i < v.n; i++)
        if (!char_is_letter(v.p[i]) ||
            (i > 0 && v.p[i] >= 'A' && v.p[i] <= 'Z' && v.p[i - 1] >= 'a' && v.p[i - 1] <= 'z'))
            return true;
    return false;
}

/* At least one letter and one digit, in a value too long for a word. */
static bool mask_is_mixed(str v)
{
    bool digit = false, letter = false;

    for (size_t i = 0; i < v.n; i++) {
        digit |= char_is_digit(v.p[i]);
        letter |= char_is_letter(v.p[i]);
    }
    return digit && letter && v.n >= 6;
}

/* self.token, get_password(), tokens[0]: code that fetches a value, not a value. */
static bool mask_is_code(str v)
{
    bool digits = false;

    for (size_t i = 0; i < v.n; i++) {
        if (v.p[i] == '(' || v.p[i] == '[')
            return i > 0 && (char_is_alnum(v.p[i - 1]) || v.p[i - 1] == '_') && !digits;
        if (v.p[i] == '.' && i > 2 && i + 2 < v.n && !digits && char_is_letter(v.p[i + 1]) &&
            (str_starts(v, STR("self.")) || str_starts(v, STR("this.")) ||
             str_starts(v, STR("config.")) || str_starts(v, STR("settings.")) ||
             str_starts(v, STR("args.")) || str_starts(v, STR("req.")) ||
             str_starts(v, STR("request.")) || str_starts(v, STR("ctx."))))
            return true;
        digits |= char_is_digit(v.p[i]);
    }
    return false;
}

/* Whether a comma, semicolon or ampersand at `at` ends the value: another pair or nothing
 * follows. */
static bool mask_ends_pair(struct place *p, size_t at)
{
    size_t i = at + 1;

    assert(at < p->t->s.n);
    if (mask_assign_peek(p, i) == '\0' || char_is_space(mask_assign_peek(p, i)))
        return true;
    while (i - at < 40 && (mask_is(MASK_C_DOTTED, mask_assign_peek(p, i)) ||
                           mask_assign_peek(p, i) == ' ' || mask_assign_peek(p, i) == '"'))
        i++;
    return mask_assign_peek(p, i) == '=' || mask_assign_peek(p, i) == ':';
}

/* The end of a value without quotes, at most max bytes away. */
static size_t mask_bare_end(struct place *p, size_t max)
{
    size_t i = p->i;
    char c;

    for (; i - p->i < max && ((c = mask_assign_peek(p, i)) != '\0' || i < p->t->s.n); i++) {
        if (char_is_space(c) || c == '"' || c == '\'' || c == '<' || c == '>' || c == '`')
            break;
        if ((c == ',' || c == ';' || c == '&') && mask_ends_pair(p, i))
            break;
        if (c == '\\' && mask_assign_peek(p, i + 1) != '\0' &&
            strchr("nrt\"'\\", mask_assign_peek(p, i + 1)))
            break;
    }
    while (i - p->i < max && i > p->i + 1 && strchr(")}].,;:*!", p->t->s.p[i - 1]))
        i--;
    assert(i >= p->i);
    return i;
}

/* The end of the line: a pass phrase may contain blanks. */
static size_t mask_assign_line_end(struct place *p, size_t i)
{
    size_t from = i;
    char c;

    assert(i <= p->t->s.n);
    while ((c = mask_assign_peek(p, i)) != '\0' && c != '\n' && c != '\r' &&
           i - from < LINE_MAX_SIZE) {
        if (c == '\\' && mask_assign_peek(p, i + 1) != '\0' &&
            strchr("nr", mask_assign_peek(p, i + 1)))
            break;
        if (c == ' ' && mask_assign_peek(p, i + 1) == '#')
            break;
        i++;
    }
    while (i > from && char_is_space(p->t->s.p[i - 1]))
        i--;
    return i;
}

static enum mask_found mask_assign_give(struct place *p, size_t from, size_t to,
                                        struct mask_span *out)
{
    if (p->short_of)
        return MASK_MORE;
    if (to <= from)
        return MASK_NO;
    assert(to <= p->t->s.n);
    *out = (struct mask_span){from, to, p->rule, 0, {0}};
    return MASK_YES;
}

/* The value up to its closing quotes, after as many backslashes as its opening ones. */
static enum mask_found mask_assign_quoted(struct place *p, size_t slashes, char quote,
                                          struct mask_span *out)
{
    size_t from = p->i, run = 0, i = from;
    char c;

    assert(from > slashes && p->t->s.p[from - 1] == quote);
    for (; (c = mask_assign_peek(p, i)) != '\0' || i < p->t->s.n; i++) {
        if (i - from == VALUE_HEAD && mask_stands_for(str_slice(p->t->s, from, i)))
            return MASK_NO;
        if (c == quote && (slashes ? run == slashes : run % 2 == 0))
            break;
        if (c == '\n' && p->rule != MASK_RULE_SECRET)
            break;
        run = c == '\\' ? run + 1 : 0;
    }
    if (i > from && slashes && i < p->t->s.n && p->t->s.p[i] == quote)
        i -= slashes;
    if (!p->short_of && mask_stands_for(str_slice(p->t->s, from, i)))
        return MASK_NO;
    out->open = (struct mask_open){
        p->rule == MASK_RULE_SECRET ? MASK_END_QUOTE : MASK_END_QUOTE_LINE, quote, slashes};
    return mask_assign_give(p, from, i, out);
}

static enum mask_found mask_assign_bare(struct place *p, struct mask_span *out)
{
    static const char *const schemes[] = {"bearer ", "basic ", "token ", "apikey ", "digest "};
    size_t from = p->i, end;
    str v;

    if (p->header) {
        end = from;
        while (mask_assign_peek(p, end) != '\0' && !strchr("\r\n\"'\\", mask_assign_peek(p, end)))
            if (++end - from == VALUE_HEAD && mask_stands_for(str_slice(p->t->s, from, end)))
                return MASK_NO;
        v = str_slice(p->t->s, from, end);
        out->open.end = MASK_END_LINE;
        return mask_stands_for(v) || v.n < 4 ? mask_assign_give(p, from, from, out)
                                             : mask_assign_give(p, from, end, out);
    }
    for (size_t k = 0; k < COUNT_OF(schemes); k++)
        if (mask_assign_word_at(p, p->i, schemes[k]))
            p->i += strlen(schemes[k]);
    end = mask_bare_end(p, VALUE_HEAD);
    v = str_slice(p->t->s, from, end);
    if (end - p->i ==
        VALUE_HEAD) { /* decides by the first bytes, so a value is read to its end once */
        if (p->equal || mask_stands_for(v) || mask_is_code(v))
            return MASK_NO;
        end = mask_bare_end(p, SIZE_MAX);
        v = str_slice(p->t->s, from, end);
    }
    if (p->short_of)
        return MASK_MORE;
    if (p->equal || (v.n < 3 && char_is_digit(v.n ? v.p[0] : '-')))
        return MASK_NO; /* a comparison (==) or a count (1 or 2 digits) */
    if (p->line && !p->tight && !p->prose && p->rule == MASK_RULE_PASSWORD && !mask_is_code(v)) {
        end = mask_assign_line_end(p, end);
        if (!p->short_of && mask_stands_for(str_slice(p->t->s, from, end)))
            return MASK_NO;
        return mask_assign_give(p, from, end, out);
    }
    if (mask_stands_for(v) || mask_is_code(v))
        return MASK_NO;
    if (p->prose && (p->beside ? !mask_is_mixed(v) : !mask_is_odd(v) || v.n < 4))
        return MASK_NO;
    if (p->rule != MASK_RULE_PASSWORD) {
        bool alone = p->line && mask_assign_line_end(p, end) == end;

        if (p->short_of)
            return MASK_MORE;
        if (v.n < (p->tight ? 3 : 6) || (!p->tight && !alone && !mask_is_odd(v)))
            return MASK_NO;
    }
    return mask_assign_give(p, from, end, out);
}

/* A YAML block: the value is on the lines below. */
static bool mask_block_behind(struct place *p)
{
    size_t i = p->i;

    assert(i <= p->t->s.n);
    if (mask_assign_peek(p, i) != '|' && mask_assign_peek(p, i) != '>')
        return false;
    i++;
    while (mask_assign_peek(p, i) != '\0' && strchr("+-0123456789 \r", mask_assign_peek(p, i)))
        i++;
    if (mask_assign_peek(p, i) != '\n')
        return false;
    p->i = i;
    mask_skip_of(p, " \t\r\n", 256);
    return true;
}

/* The end of a block's last line: the lines after the first are at least as deep. Text that is not
 * indented is one line. */
static size_t mask_assign_block_end(struct place *p, struct mask_open *open)
{
    str s = p->t->s;
    size_t at = p->i, end = at, col = 0, deep;

    while (col < at && s.p[at - col - 1] == ' ')
        col++;
    if (col > 0)
        *open = (struct mask_open){.end = MASK_END_OUTDENT, .n = col - 1};
    for (;;) {
        while (at < s.n && s.p[at] != '\n')
            if (!char_is_space(s.p[at++]))
                end = at;
        if (at == s.n)
            break;
        at++;
        for (deep = 0; at + deep < s.n && s.p[at + deep] == ' ';)
            deep++;
        at += deep;
        if (at < s.n && !char_is_space(s.p[at]) && (deep < col || col == 0))
            break;
    }
    p->short_of |= at == s.n && !p->t->final;
    assert(p->i <= end && end <= s.n);
    return end;
}

static enum mask_found mask_assign_value(struct place *p, struct mask_span *out)
{
    size_t slashes = 0;
    char c;

    mask_skip_of(p, " \t*`", BLANKS_MAX);
    if (mask_block_behind(p))
        return mask_assign_give(p, p->i, mask_assign_block_end(p, &out->open), out);
    while (mask_assign_peek(p, p->i + slashes) == '\\')
        slashes++;
    c = mask_assign_peek(p, p->i + slashes);
    if (slashes == 0 && strchr("bruf@", c ? c : '-') &&
        (mask_assign_peek(p, p->i + 1) == '"' || mask_assign_peek(p, p->i + 1) == '\'')) {
        p->i++;
        c = mask_assign_peek(p, p->i);
    }
    if (p->short_of)
        return MASK_MORE;
    if (c == '"' || c == '\'') {
        p->i += slashes + 1;
        return mask_assign_quoted(p, slashes, c, out);
    }
    return mask_assign_bare(p, out);
}

static enum mask_found mask_assign_behind(struct place *p, struct mask_span *out)
{
    bool is = mask_sign_behind(p);

    if (p->short_of)
        return MASK_MORE;
    return is ? mask_assign_value(p, out) : MASK_NO;
}

enum mask_found mask_match_assign(const struct mask_view *t, size_t at, const void *arg,
                                  struct mask_span *out)
{
    struct place p = {.t = t};
    bool is;

    (void)arg;
    assert(at < t->s.n);
    is = mask_name_around(&p, at);
    if (p.short_of)
        return MASK_MORE;
    return is ? mask_assign_behind(&p, out) : MASK_NO;
}

enum mask_found mask_match_name(const struct mask_view *t, size_t at, const void *arg,
                                struct mask_span *out)
{
    struct place p = {.t = t, .rule = MASK_RULE_PASSWORD, .name_from = at};
    enum mask_found f = mask_goes_on(t, at, str_c(arg));

    if (f != MASK_YES)
        return f;
    p.i = at + strlen(arg);
    p.line = mask_begins_line(t->s, at);
    return mask_assign_behind(&p, out);
}

enum mask_found mask_value_at(const struct mask_view *t, size_t at, struct mask_span *out)
{
    struct place p = {.t = t, .rule = MASK_RULE_PASSWORD, .name_from = at, .i = at, .tight = true};

    return mask_assign_value(&p, out);
}

/* ?key=...&sig=...: names that mean something only in a URL. Storage services write their own name
 * before "Signature", for example X-Amz-Signature. */
enum mask_found mask_match_key(const struct mask_view *t, size_t at, const void *arg,
                               struct mask_span *out)
{
    struct place p = {.t = t, .rule = MASK_RULE_API_KEY, .tight = true};
    size_t from = at, end;
    enum mask_found f = mask_goes_on(t, at, str_c(arg));
    bool prefixed = strlen(arg) > 4;

    if (f != MASK_YES)
        return f;
    while (prefixed && from > 0 && at - from < NAME_SIDE_MAX &&
           (char_is_letter(t->s.p[from - 1]) || t->s.p[from - 1] == '-'))
        from--;
    if (from == 0 || (t->s.p[from - 1] != '?' && t->s.p[from - 1] != '&'))
        return MASK_NO;
    p.i = at + strlen(arg);
    end = mask_bare_end(&p, SIZE_MAX);
    return end - p.i < 6 ? mask_assign_give(&p, at, at, out) : mask_assign_give(&p, p.i, end, out);
}
