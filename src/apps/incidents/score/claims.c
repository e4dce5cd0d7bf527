/* claims.c - see claims.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/incidents/score/claims.h"

#include "apps/incidents/score/quotes.h"
#include "base/buf.h"
#include "base/ctype.h"

#define PLAIN_MAX ((size_t)2 << 10) /* bytes of a clause that phrases are searched in */
#define KEYWORDS_LEAST 6            /* words without any that connects them */
#define CONNECTING_SHARE 5          /* one in so many words of a statement connects others */
#define ITEMS_LEAST 5               /* short items between commas */
#define STATEMENTS_LEAST 4          /* or so many statements */
#define LABEL_MAX 40                /* bytes of words that reject what is beside them */
#define HEDGES_MAX 1                /* more clauses say that something could be: possibilities */
#define LIKELY_MAX 2                /* or that it is likely */

/* ---- phrases: whole words, lower case, without apostrophes ---- */

/* The subject of such a clause can still be the object: "the latency of X is not caused by Y". */
static const char not_caused[] = "not caused by|not due to|not because|isnt due|isnt caused|"
                                 "only a symptom|just a symptom|merely a symptom";
static const char rule_out[] =
    "ruled out|rule out|rules out|excluded|not the cause|not the root cause|"
    "not the problem|not the reason|not to blame|not responsible|not related|"
    "unrelated|nothing to do with|innocent|irrelevant|red herring|not explain|"
    "doesnt explain|isnt the cause|isnt the problem|is fine|are fine|was fine|"
    "were fine|looks fine|look fine|is healthy|are healthy|looks healthy|"
    "look healthy|is ok|are ok|is normal|are normal|looks normal|look normal|"
    "found none|unlike|rather than|as opposed to|dismissed|thought that|i thought|"
    "we thought|assumed that|i assumed|suspected that|was suspected|first suspicion|"
    "not why|a coincidence|coincidental|cause is not|cause was not|cause isnt|anything but|"
    "the opposite|a myth|no part in|contrary to|beside the point|all good|it is not that|"
    "never happened|was never there|were never there|never took place|not what happens|"
    "not what happened";
static const char doubts[] =
    "i doubt|we doubt|doubtful|questionable|unlikely|improbable|implausible|far fetched|"
    "not convinced|sceptical|skeptical|speculation|speculative|only a guess|just a guess|"
    "mere guess|be surprised|hard to believe|not believe|dont believe|not think|dont think|"
    "unproven|unconfirmed|not confirmed|be confirmed|been confirmed|not proven|disproved|"
    "disproven|refuted|contradict|contradicts|supposedly|allegedly|little reason|no reason to|"
    "might think|may think|might believe|needs checking|needs to be checked|to be verified|"
    "remains to be seen|such an alert|such alerts|alerts like this|one must be|whichever|"
    "or did not|or does not|or it does not|or it is not|or not|too early to|is mentioned|are "
    "mentioned|in theory|in principle|on paper|"
    "at first glance|at first sight|seemingly|apparently|ostensibly|nobody has shown|"
    "no one has shown|nobody has proved|two causes|three causes|several causes|two things|three "
    "things|several things|or else|"
    "would be wrong|would be an error|would be a mistake";
/* Alone before or after a colon, in the last cell of a row, or over a list. */
static const char labels[] =
    "rejected|discarded|excluded|dismissed|refuted|disproved|ruled out|untrue|struck|"
    "not the cause|not the root cause|not a cause|alternatives|alternative causes";
static const char blaming[] = "causes|root causes|the causes";
static const char short_labels[] = "no|false|wrong|not true|to do|todo|open|still open|unverified";
/* This clause retracts the clause before it. */
static const char retracts[] =
    "turned out to be false|turned out to be wrong|turned out not|that is false|"
    "that is wrong|that was wrong|this is false|this is wrong|is not so|"
    "not the case|not true|is untrue|no longer believe|no longer think|scratch that|"
    "strike that|take that back|never mind|not it|far from it|be mistaken|i disagree|"
    "we disagree|today is different|this time is different|not what happens|not what happened";
static const char unable[] =
    "cannot|could not|can not|cant|couldnt|unable|not able|impossible|not possible|failed to|"
    "did not|didnt|not enough|insufficient|hard to|nobody can";
static const char finding[] =
    "say|tell|determine|determined|establish|established|identify|identified|find|found|name|"
    "know|known|explain|conclude|reach|draw|decide|state|see|answer";
static const char unknown[] =
    "not clear|unclear|unknown|not known|do not know|dont know|no idea|undetermined|not sure|"
    "unsure|not been determined|not been found|not determined|not identified|not establish|"
    "remains open";
static const char diagnosis[] =
    "what is wrong|whats wrong|what was wrong|what went wrong|root cause|the cause|"
    "a cause|any cause|what happened|what is happening|what causes|what caused|"
    "what is causing|why this|why the alert|why it|a conclusion|any conclusion|"
    "to conclude|a diagnosis";
static const char refusals[] =
    "inconclusive|no root cause|no clear cause|no conclusion|no cause|no diagnosis|"
    "cannot say more|cannot conclude|could not conclude|needs further investigation|"
    "further investigation is needed|further investigation is required|all is well|"
    "nothing is wrong|nothing can be concluded|all is fine|time will tell";
static const char hedges[] =
    "could be|may be|might be|could have|may have|might have|can be|possibly|"
    "perhaps|maybe|either|potentially|one of|any of|suspects|candidates|"
    "conceivable|conceivably|could also|might also|may also|all of these|each of these|"
    "all of the following|any of these|it is possible|one possibility|another possibility|"
    "one explanation|another explanation|alternatively|or it is|theory|hypothesis|scenario|"
    "option 1|option 2|option a|option b|guess|suspect|suspicion|by probability|by "
    "likelihood|order of likelihood|"
    "order of probability";
/* Among the hypotheses of an analysis, this one holds. */
static const char settled[] = "confirmed|proven|verified|proved";
static const char likely[] = "likely|probable|probably|seems|seem|appears|appear|presumably";
static const char possibilities[] =
    "possible causes|potential causes|likely causes|possible reasons|"
    "potential reasons|possible explanations|hypotheses|candidates|suspects|"
    "one of the following|any of the following|possibilities|several causes|"
    "many causes|could have many|can have many|typical causes|common causes|"
    "usual causes|usual suspects|what it could be|what this could be|"
    "causes ruled out|ruled out";
static const char root_marks[] =
    "root cause|the cause|real cause|actual cause|true cause|cause is|caused by|"
    "is caused|culprit|to blame|underlying problem|underlying issue|real problem";
/* What is said of the only cause: said of two things, it is wrong of one. A row for each wording,
 * as "the reason is" may give the reason of the cause. */
static const char *const only[CLAIM_WORDINGS] = {
    ("the cause is|the root cause is|the cause was|the root cause was|root cause 1|root cause 2|"
     "root cause 3|first root cause|second root cause|another root cause|third root cause"),
    "the reason is|the reason was",
    "the culprit is|the culprit was",
};
/* "may block" says that something could be; "may not write" that it is not allowed. */
static const char modals[] = "may|might|could";
static const char forbidden[] = "may not|may no|might not|could not|could no";
static const char also[] =
    "it is also the|it was also the|it is also a|it was also a|it was also an|it is also an";
/* Said of what the cause has led to, or of what has led to it. */
static const char other_effect[] = "are the cause of|cause of that|cause of this|cause of these";
static const char pointing[] = "that|this|these|it|which";
static const char conclusions[] =
    "because|caused by|due to|root cause|the cause|cause|culprit|as a result|"
    "results in|leads to|led to|explains|explanation|diagnosis|conclusion|"
    "owing to|reason";
static const char own_conclusions[] =
    "therefore|hence|thus|so|which means|this means|that means|which is why|"
    "that is why|this is why|consequently|conclude";
static const char sources[] =
    "log|logs|event|events|output|alert|runbook|message|line|lines|tool|tools|"
    "journal|trace|traces|response|command|kubectl|monitoring|documentation|"
    "entry|entries|according";
static const char reporting[] =
    "says|say|said|reads|reports|reported|prints|printed|states|stated|"
    "mentions|mention|mentioned|contains|contain|returned|returns|wrote|claims|"
    "according to|speaks of|talks about|complains|writes";
static const char looking[] =
    "check|verify|look|investigate|consider|inspect|examine|confirm|see|ask|if|"
    "whether|next steps|please|suppose|supposing|assume|assuming|imagine|had|were|in general|"
    "generally|typically|usually";
/* Where a clause ends, besides punctuation. */
static const char breaks[] =
    ", but | but |, however| whereas | although |, though |, yet |, while |"
    ", not | rather than |, instead | even though | unlike |, see |: the cause |"
    ": the root cause |: the real cause |, \"alternatives\"";
/* Before a line: it is rejected, or it is not. */
static const char crosses[] = "\xe2\x9d\x8c|\xe2\x9c\x97|\xe2\x9c\x98|\xe2\x9c\x96|[ ] ";
static const char ticks[] = "\xe2\x9c\x85|\xe2\x9c\x93|\xe2\x9c\x94|[x] |[X] ";

/* Whether the clause has a phrase of the list, or (`first`) begins with one. */
static bool claim_has_phrase(str plain, const char *list, bool first)
{
    assert(plain.n > 0 && plain.p[plain.n - 1] == ' '); /* claim_plain surrounds each word */
    for (str rest = str_c(list); rest.n;) {
        str from = plain, phrase = str_cut(&rest, '|');
        size_t at;
        while ((at = str_find(from, phrase)) != STR_NONE) {
            if (at && from.p[at - 1] == ' ' && from.p[at + phrase.n] == ' ' &&
                (!first || (at == 1 && from.p == plain.p)))
                return true;
            from = str_slice(from, at + 1, from.n);
        }
    }
    return false;
}

static bool claim_has(str plain, const char *list)
{
    return claim_has_phrase(plain, list, false);
}

static bool claim_starts(str plain, const char *list)
{
    return claim_has_phrase(plain, list, true);
}

/* " the words of a text in lower case " */
static str claim_plain(str text, struct buf *out)
{
    struct score_word w;
    bool code = false;

    buf_reset(out);
    buf_add_c(out, ' ');
    while (score_word_next(&text, &code, &w)) {
        buf_add(out, (str){w.text, w.n});
        buf_add_c(out, ' ');
    }
    return buf_str(out);
}

static bool claim_begins(str text, const char *list)
{
    for (str rest = str_c(list); rest.n;)
        if (str_starts(text, str_cut(&rest, '|')))
            return true;
    return false;
}

/* ---- lines and sections ---- */

struct claim_reader {
    struct claims *out;
    struct buf plain;
    bool heading, item; /* of the current line */
    bool struck;        /* the line says that it is rejected */
    bool listing, root; /* the section lists possibilities; names the cause */
    bool listing_items; /* the list that follows does */
    bool blaming_items; /* each of its items is called a cause */
};

/* "Rejected", "Refuted by the data", "no" */
static bool claim_is_label(str text, struct buf *room)
{
    str plain = claim_plain(str_slice(text, 0, PLAIN_MAX), room);

    for (str rest = str_c(short_labels); rest.n;)
        if (str_eq(str_trim(plain), str_cut(&rest, '|')))
            return true;
    return text.n <= LABEL_MAX && claim_starts(plain, labels);
}

/* "| the probe fails | rejected |" */
static bool claim_row_rejected(str line, struct buf *room)
{
    size_t at;

    if (!str_starts(line, STR("|")) || !str_ends(line, STR("|")) || line.n < 2)
        return false;
    line = str_slice(line, 0, line.n - 1);
    for (at = line.n; line.p[at - 1] != '|'; at--)
        ;
    return claim_is_label(str_slice(line, at, line.n), room) ||
           claim_begins(str_trim(str_slice(line, at, line.n)), crosses);
}

static str claim_strip(str line, struct claim_reader *r)
{
    size_t digits = 0;

    line = str_trim(line);
    r->heading = line.n && line.p[0] == '#';
    while (line.n && line.p[0] == '#')
        line = str_slice(line, 1, line.n);
    r->item = line.n > 1 && (line.p[0] == '-' || line.p[0] == '*' || line.p[0] == '+') &&
              line.p[1] == ' ';
    while (digits < line.n && digits < 3 && char_is_digit(line.p[digits]))
        digits++;
    if (digits && digits + 1 < line.n && (line.p[digits] == '.' || line.p[digits] == ')') &&
        line.p[digits + 1] == ' ') {
        r->item = true;
        line = str_slice(line, digits + 1, line.n);
    } else if (r->item) {
        line = str_slice(line, 1, line.n);
    }
    line = str_trim(line);
    r->struck = claim_begins(line, crosses);
    r->item = r->item || r->struck || claim_begins(line, ticks);
    if (str_starts(line, STR("**")) && str_ends(line, STR("**")) && line.n < 100)
        r->heading = true;
    return line;
}

/* ---- the kind of a clause ---- */

static size_t claim_count(str text, char c)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == c;
    return n;
}

/* Words that nothing connects, or many short items between commas. */
static bool claim_is_keywords(const struct claim_reader *r, str text)
{
    size_t words = 0, connecting = 0, tokens = 1, items = claim_count(text, ',') + 1;
    struct score_word w;
    bool code = false;

    for (size_t i = 0; i + 1 < text.n; i++) {
        tokens += char_is_space(text.p[i]);
        connecting += (text.p[i] == ':' && char_is_space(text.p[i + 1])) ||
                      (text.p[i] != '<' && text.p[i + 1] == '>') ||
                      str_starts(str_slice(text, i, text.n), STR("\xe2\x86\x92"));
    }
    while (score_word_next(&text, &code, &w)) {
        words++;
        connecting += score_word_connects(&w);
    }
    return (r->item && words <= 2) ||
           (words >= KEYWORDS_LEAST && connecting * CONNECTING_SHARE < words) ||
           (items >= ITEMS_LEAST && 2 * tokens <= 5 * items);
}

static bool claim_is_refusal(str plain)
{
    bool not_found = claim_has(plain, unable) && claim_has(plain, finding);

    return claim_has(plain, refusals) ||
           ((not_found || claim_has(plain, unknown)) && claim_has(plain, diagnosis));
}

static bool claim_is_choice(str text, str plain)
{
    return str_find(plain, STR(" or ")) != STR_NONE || claim_count(text, ',') >= 2;
}

/* "A is down, B is slow, C has no memory, D is full" */
static bool claim_is_enumeration(str text, struct buf *room)
{
    static const char verbs[] = "is|are|was|were|has|have";
    size_t n = 0;

    while (text.n)
        n += claim_has(claim_plain(str_slice(str_cut(&text, ','), 0, PLAIN_MAX), room), verbs);
    return n >= STATEMENTS_LEAST;
}

/* "caused by A and by B and by C and by D", "A / B / C / D", "A or B or C", "A and/or B" */
static bool claim_is_row(str text)
{
    static const struct {
        str mark;
        size_t max;
    } rows[] = {{STR_INIT(" / "), 2},
                {STR_INIT(" and by "), 2},
                {STR_INIT(" or "), 1},
                {STR_INIT(" and/or "), 0}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        str rest = text;
        size_t n = 0, at;

        for (; (at = str_find(rest, rows[i].mark)) != STR_NONE; n++)
            rest = str_slice(rest, at + 1, rest.n);
        if (n > rows[i].max)
            return true;
    }
    return false;
}

/* "The credentials work", "a pool exists", but not "DNS does not work". */
static bool claim_is_in_order(str plain)
{
    static const char works[] = "work|works";
    static const char fails[] = "not|doesnt|dont|cannot|no";

    return (claim_has(plain, works) || str_ends(plain, STR(" exist ")) ||
            str_ends(plain, STR(" exists "))) &&
           !claim_has(plain, fails);
}

static bool claim_states_nothing(str plain)
{
    return claim_has(plain, rule_out) || claim_has(plain, retracts) ||
           claim_starts(plain, looking) || claim_is_in_order(plain) || claim_has(plain, doubts) ||
           str_find(plain, STR(" whether ")) != STR_NONE;
}

/* "Rejected: the probe fails", "the probe fails: no" */
static bool claim_is_labelled(str text, struct buf *room)
{
    size_t first = str_find(text, STR(": ")), last = text.n;

    if (first == STR_NONE)
        return false;
    while (text.p[last - 1] != ':')
        last--;
    return claim_is_label(str_slice(text, 0, first), room) ||
           claim_is_label(str_slice(text, last, text.n), room);
}

static unsigned claim_judge(struct claim_reader *r, str text, str plain)
{
    bool attributed = claim_has(plain, sources) && claim_has(plain, reporting);
    unsigned f = 0;

    assert(text.n > 0);
    if (claim_is_refusal(plain))
        f |= CLAIM_REFUSES | CLAIM_DROPPED;
    if (claim_has(plain, hedges) && !claim_has(plain, settled))
        f |= CLAIM_HEDGED | (claim_is_choice(text, plain) ? CLAIM_DROPPED : 0);
    if (claim_has(plain, modals) && !claim_has(plain, forbidden))
        f |= CLAIM_HEDGED;
    if (claim_has(plain, likely))
        f |= CLAIM_LIKELY;
    if (claim_states_nothing(plain) || claim_is_row(text) || r->listing || r->struck ||
        (r->listing_items && r->item))
        f |= CLAIM_DROPPED;
    if (text.p[text.n - 1] == '?' || claim_has(plain, not_caused) || claim_is_keywords(r, text))
        f |= CLAIM_NAMES;
    if (attributed)
        f |= CLAIM_REPORTED;
    if ((claim_has(plain, root_marks) && !claim_has(plain, other_effect)) ||
        (r->blaming_items && r->item))
        f |= CLAIM_BLAMES;
    if (r->root || f & CLAIM_BLAMES)
        f |= CLAIM_ROOT | (claim_starts(plain, pointing) ? CLAIM_POINTS_BACK : 0);
    if (claim_starts(plain, also))
        f |= CLAIM_BLAMES;
    for (unsigned i = 0; i < COUNT_OF(only); i++)
        if (claim_has(plain, only[i]))
            f |= (unsigned)CLAIM_ONLY << i;
    if (r->root || claim_has(plain, own_conclusions) ||
        (!attributed && claim_has(plain, conclusions)))
        f |= CLAIM_CONCLUDES;
    return f;
}

static void claim_add(struct claim_reader *r, str text)
{
    struct claims *c = r->out;
    size_t first = c->words.n;
    str plain;

    text = str_trim(text);
    if (!text.n)
        return;
    assert(!c->n || c->at[c->n - 1].first + c->at[c->n - 1].n == first);
    plain = claim_plain(str_slice(text, 0, PLAIN_MAX), &r->plain);
    c->at[c->n] = (struct claim){.flags = claim_judge(r, text, plain), .first = first};
    if (c->n && claim_has(plain, retracts))
        c->at[c->n - 1].flags |= CLAIM_DROPPED;
    if (str_ends(text, STR(":")) || r->heading) {
        r->listing_items = claim_has(plain, possibilities) || claim_starts(plain, labels);
        r->blaming_items = claim_starts(plain, blaming);
    }
    if (claim_is_labelled(text, &r->plain) || claim_is_enumeration(text, &r->plain))
        c->at[c->n].flags |= CLAIM_DROPPED;
    score_words_read(text, SCORE_WORDS_STATED, &c->words);
    assert(first <= c->words.n && c->words.n <= c->words.max);
    c->at[c->n].n = c->words.n - first;
    c->refused = c->refused || (c->at[c->n].flags & CLAIM_REFUSES);
    c->n++;
}

/* "The pool is fine, report-job holds the lock": the ruled-out part ends at the comma, unless
 * the comma is inside it ("the limit, raised last week, is not the cause"). */
static void claim_add_parts(struct claim_reader *r, str text)
{
    static const char verbs[] = "is|are|was|were|can|could|has|have|isnt|does";
    size_t comma;

    while ((comma = str_find(text, STR(", "))) != STR_NONE &&
           claim_has(claim_plain(str_slice(text, 0, PLAIN_MAX), &r->plain), rule_out)) {
        str rest = str_slice(text, comma + 1, text.n);
        str plain = claim_plain(str_slice(rest, 0, PLAIN_MAX), &r->plain);

        if (claim_starts(plain, verbs) && claim_has(plain, rule_out))
            break;
        claim_add(r, str_slice(text, 0, comma));
        text = rest;
    }
    claim_add(r, text);
}

/* The end of the clause that begins at the place: after ". ", ";", "!" or "?", or before a word
 * that turns the sentence around. */
static size_t claim_end(str text, size_t from)
{
    assert(from < text.n);
    for (size_t i = from; i < text.n; i++) {
        char c = text.p[i];
        bool last = i + 1 == text.n || char_is_space(text.p[i + 1]);

        if (c == ';' || c == '!' || c == '?' || (c == '.' && last))
            return i + 1;
        if (i > from && (c == ' ' || c == ',' || c == ':') &&
            claim_begins(str_slice(text, i, text.n), breaks))
            return i + 1;
    }
    return text.n;
}

static void claim_add_all(struct claim_reader *r, str text)
{
    for (size_t from = 0, to; from < text.n; from = to) {
        to = claim_end(text, from);
        assert(to > from && to <= text.n);
        claim_add_parts(r, str_slice(text, from, to));
    }
}

static void claim_section(struct claim_reader *r, str line)
{
    str plain = claim_plain(str_slice(line, 0, PLAIN_MAX), &r->plain);

    r->listing = claim_has(plain, possibilities) || claim_starts(plain, labels);
    r->listing_items = false;
    r->root = !r->listing && (str_find(plain, STR(" cause ")) != STR_NONE ||
                              str_find(plain, STR(" diagnosis ")) != STR_NONE ||
                              str_find(plain, STR(" conclusion ")) != STR_NONE);
}

/* A line that continues the one before it: neither marked nor after an empty one. */
static bool claim_continues(str next)
{
    struct claim_reader probe = {.heading = false};
    str line = claim_strip(next, &probe);

    return line.n && !probe.heading && !probe.item && line.p[0] != '|' && line.p[0] != '{' &&
           line.p[0] != '"' && line.p[0] != '}';
}

static void claim_read_lines(struct claim_reader *r, str text)
{
    struct buf paragraph;

    buf_init(&paragraph, CLAIMS_TEXT_MAX);
    while (text.n) {
        str line = claim_strip(str_cut(&text, '\n'), r);

        r->struck = r->struck || claim_row_rejected(line, &r->plain);
        if (r->heading)
            claim_section(r, line);
        else if (!r->item && line.n)
            r->listing_items = r->blaming_items = false;
        buf_set(&paragraph, line);
        while (line.n && !r->heading && text.n) {
            str rest = text, next = str_cut(&rest, '\n');

            if (!claim_continues(next))
                break;
            buf_add_c(&paragraph, ' ');
            buf_add(&paragraph, str_trim(next));
            text = rest;
        }
        claim_add_all(r, buf_str(&paragraph));
    }
    buf_release(&paragraph);
}

/* ---- checks of the whole text ---- */

static void claim_settle(struct claims *c)
{
    size_t hedged = 0, likely_ones = 0;
    bool concludes = false;

    for (size_t i = 0; i < c->n; i++) {
        bool kept = !(c->at[i].flags & CLAIM_DROPPED);

        hedged += (c->at[i].flags & CLAIM_HEDGED) != 0;
        likely_ones += (c->at[i].flags & CLAIM_LIKELY) != 0;
        concludes = concludes || (kept && c->at[i].flags & CLAIM_CONCLUDES);
    }
    for (size_t i = 0; i < c->n; i++)
        if ((c->at[i].flags & CLAIM_HEDGED && hedged > HEDGES_MAX) ||
            (c->at[i].flags & CLAIM_LIKELY && likely_ones > LIKELY_MAX) ||
            (c->at[i].flags & CLAIM_REPORTED && !concludes))
            c->at[i].flags |= CLAIM_DROPPED;
}

void claims_read(str analysis, str evidence, struct arena *a, struct claims *out)
{
    str own = score_quotes_remove(str_slice(analysis, 0, CLAIMS_TEXT_MAX), evidence, a);
    struct claim_reader r = {.out = out};

    *out = (struct claims){
        .at = arena_alloc(a, (own.n + 1) * sizeof *out->at), /* a mark alone is a clause: "!!!" */
        .words = {.at = arena_alloc(a, (own.n / 2 + 1) * sizeof *out->words.at),
                  .max = own.n / 2 + 1},
    };
    buf_init(&r.plain, 2 * CLAIMS_TEXT_MAX);
    claim_read_lines(&r, own);
    assert(out->n <= own.n && out->words.n <= out->words.max);
    claim_settle(out);
    buf_release(&r.plain);
}
