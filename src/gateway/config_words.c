/* config_words.c - how the configuration's errors and warnings are said: places, lines, near names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include "base/json_get.h"
#include "base/utf8.h"

#define WORD_MAX 48 /* bytes of names that are compared */
#define NAMES_SHOWN 5
#define MEMBERS_MAX 32 /* of the body of a request */
#define MEMBERS_SIZE 400
#define PATH_SHOWN_MAX 100

/* The way down from the root: at each step the child whose stretch of the tape holds the node. */
void config_path(const struct json *doc, const struct json_node *to, struct buf *out)
{
    const struct json_node *v = json_root(doc);

    while (v != to) {
        const struct json_node *child = json_first(doc, v), *value;
        bool object = v->kind == JSON_OBJECT;
        size_t index = 0;

        for (;; child = json_next(doc, v, child), index++) {
            value = object ? json_value(child) : child;
            if (to < value + value->span)
                break;
        }
        if (out->n > 0)
            buf_add_c(out, '.');
        if (object)
            buf_add(out, str_slice(json_raw(doc, child), 1, child->size - 1));
        else
            buf_printf(out, "%zu", index);
        if (child == to)
            break;
        v = value;
    }
}

unsigned config_line(const struct config_source *s, const struct json_node *v)
{
    return s->yaml.marks[v - s->doc.nodes].line;
}

const struct json_node *config_at(const struct json *doc, const struct json_node *v,
                                  const char *path)
{
    str left = str_c(path);

    while (v && left.n > 0)
        v = json_find(doc, v, str_cut(&left, '.'));
    return v;
}

static void config_words_report(struct config_build *b, const struct json_node *v,
                                const char *words, struct buf *out)
{
    struct buf path;

    buf_init(&path, YAML_JSON_MAX);
    if (v)
        config_path(&b->source->doc, v, &path);
    buf_printf(out,
               STR_FMT ":%u: ",
               STR_ARG(b->file.n ? b->file : b->c->path),
               v ? config_line(b->source, v) : 1);
    if (path.n > 0)
        buf_printf(out, STR_FMT ": ", STR_ARG(str_slice(buf_str(&path), 0, PATH_SHOWN_MAX)));
    buf_add(out, str_c(words));
    buf_release(&path);
}

bool config_wrong(struct config_build *b, const struct json_node *v, const char *fmt, ...)
{
    char words[400];
    struct buf out;
    va_list ap;

    /* The way to a node is searched: that of each of many would take too long. */
    if (b->problem_count >= CONFIG_PROBLEMS_MAX)
        return false;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    buf_init(&out, YAML_JSON_MAX);
    if (b->problem_count++ == 0) {
        config_words_report(b, v, words, &out);
        err_input(b->e, STR_FMT, STR_ARG(buf_str(&out)));
        buf_reset(&out);
    }
    if (b->sink) {
        struct config_problem p = {
            v ? config_line(b->source, v) : 1, STR(""), str_c(words), b->file};

        if (v)
            config_path(&b->source->doc, v, &out);
        p.setting = str_slice(buf_str(&out), 0, PATH_SHOWN_MAX);
        b->sink->on_problem(b->sink->ctx, &p);
    }
    buf_release(&out);
    return false;
}

void config_warn(struct config_build *b, const struct json_node *v, const char *fmt, ...)
{
    char words[400];
    struct buf out;
    va_list ap;

    if (b->c->warning_count == CONFIG_WARNINGS_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(words, sizeof words, fmt, ap);
    va_end(ap);
    buf_init(&out, 4096);
    config_words_report(b, v, words, &out);
    b->c->warnings[b->c->warning_count++] = arena_move_buf(&b->c->arena, &out);
}

/* ---- near names ---- */

static char config_words_fold(char c)
{
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

/* The number of changes, insertions, removals and swaps of neighbours that turn one into the
 * other. */
static size_t config_words_distance(str a, str b)
{
    size_t rows[3][WORD_MAX + 1];

    for (size_t j = 0; j <= b.n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            char x = config_words_fold(a.p[i - 1]), y = config_words_fold(b.p[j - 1]);
            size_t best = last[j - 1] + (x != y);

            best = last[j] + 1 < best ? last[j] + 1 : best;
            best = now[j - 1] + 1 < best ? now[j - 1] + 1 : best;
            if (i > 1 && j > 1 && x == config_words_fold(b.p[j - 2]) &&
                config_words_fold(a.p[i - 2]) == y && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[a.n % 3][b.n];
}

/* From this distance on, two names are not similar. */
static size_t config_words_reach(str word)
{
    return word.n / 3 + 2;
}

/* Whether the name is nearer than *distance, which is then its own. */
static bool config_words_nearer(str word, str name, size_t *distance)
{
    size_t longer = name.n > word.n ? name.n - word.n : word.n - name.n, d;

    if (name.n > WORD_MAX || longer >= *distance)
        return false;
    d = config_words_distance(word, name);
    if (d >= *distance || d >= name.n)
        return false;
    *distance = d;
    return true;
}

const char *config_nearest(str word, const char *const *names)
{
    const char *best = NULL;
    size_t best_distance = config_words_reach(word);

    if (word.n > WORD_MAX)
        return NULL;
    for (; *names; names++)
        if (config_words_nearer(word, str_c(*names), &best_distance))
            best = *names;
    return best;
}

static bool config_key_lists(const struct config_key *key, str model)
{
    for (size_t i = 0; i < key->model_count; i++)
        if (str_eq(key->models[i], model))
            return true;
    return key->model_count == 0;
}

str config_nearest_model(const struct config *c, const struct config_key *key, str model)
{
    size_t best_distance = config_words_reach(model);
    str best = STR("");

    if (model.n > WORD_MAX)
        return best;
    for (size_t i = 0; i < c->provider_count; i++)
        for (size_t j = 0; j < c->providers[i].model_count; j++) {
            str name = c->providers[i].models[j].alias;

            if ((!key || config_key_lists(key, name)) &&
                config_words_nearer(model, name, &best_distance))
                best = name;
        }
    return best;
}

/* The first names that there are: ": there are a, b and others". */
static void config_words_list(const char *const *names, char *out, size_t size)
{
    size_t n = 0, i = 0;

    assert(size > 2 * WORD_MAX);
    for (; names[i] && i < NAMES_SHOWN && n + strlen(names[i]) + WORD_MAX < size; i++)
        n += (size_t)snprintf(out + n, size - n, "%s%s", i ? ", " : ": there are ", names[i]);
    (void)snprintf(out + n, size - n, "%s", names[i] ? " and others" : i ? "" : ": there are none");
}

/* ", did you mean \"x\"?", or the first names that there are. */
static void config_words_advise(str name, const char *const *names, char *out, size_t size)
{
    const char *near = config_nearest(name, names);

    if (near)
        (void)snprintf(out, size, ", did you mean \"%s\"?", near);
    else
        config_words_list(names, out, size);
}

bool config_unknown(struct config_build *b, const struct json_node *v, const char *what, str name,
                    const char *const *names)
{
    char advice[200];

    config_words_advise(name, names, advice, sizeof advice);
    return config_wrong(
        b, v, "no %s \"" STR_FMT "\"%s", what, STR_ARG(str_slice(name, 0, 60)), advice);
}

/* Begins with the name, as errors of members do. */
static bool config_refuse_member(str name, const char *names, struct err *e)
{
    char split[MEMBERS_SIZE], advice[200], *rest = NULL;
    const char *list[MEMBERS_MAX + 1] = {NULL};
    size_t n = 0;

    assert(strlen(names) < sizeof split);
    (void)snprintf(split, sizeof split, "%s", names);
    for (char *p = strtok_r(split, " ", &rest); p && n < MEMBERS_MAX;
         p = strtok_r(NULL, " ", &rest))
        list[n++] = p;
    config_words_advise(name, list, advice, sizeof advice);
    return err_input(
        e, STR_FMT ": there is no such member here%s", STR_ARG(utf8_cut_size(name, 60)), advice);
}

bool config_check_members(const struct json *doc, const struct json_node *object, const char *names,
                          struct err *e)
{
    JSON_FOREACH(k, doc, object)
        if (!json_is_one_of(doc, k, names)) {
            str raw = json_raw(doc, k);

            return config_refuse_member(str_slice(raw, 1, raw.n - 1), names, e);
        }
    return true;
}

bool config_find_name(struct config_build *b, const struct json_node *v, const char *what,
                      const char *const *names, size_t *out)
{
    str name = config_text(b, v);

    for (size_t i = 0; names[i]; i++)
        if (str_eq(name, str_c(names[i]))) {
            *out = i;
            return true;
        }
    return config_unknown(b, v, what, name, names);
}
