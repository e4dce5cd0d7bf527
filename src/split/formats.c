/* The formats, one row each.
 *
 * A row is a list of markers, and most rows are made of a few shapes:
 *
 *   TAG       a pair that is plain text: opens at the start of a line, can be quoted or ambiguous
 *   TOKEN     a pair of special tokens: opens anywhere, and a stray one is framing
 *   TOOLS     tool markup and its end; `where` says whether it also ends reasoning
 *   WRAP_TAG  a wrapper around the answer, plain text, right behind the reasoning
 *   WRAP      the same with special tokens
 *
 * docs/reference/formats.md lists the families and their prompts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "split/internal.h"

#define OUT SPLIT_OUT
#define WRAPPED SPLIT_WRAP
#define REASON SPLIT_REASON
#define IN_TOOLS SPLIT_TOOLS
#define TAIL SPLIT_TAIL
#define ANSWERS (SPLIT_OUT | SPLIT_WRAP)
#define START SPLIT_GAP_START
#define INSIDE SPLIT_GAP_INSIDE
#define AFTER SPLIT_GAP_AFTER
#define BETWEEN SPLIT_GAP_TOOL

/* clang-format off */

/* A marker, and what may follow it. */
#define M(t, ...) {.text = STR_INIT(t), .eat = STR_INIT(""), __VA_ARGS__}
#define M_EAT(t, e, ...) {.text = STR_INIT(t), .eat = STR_INIT(e), __VA_ARGS__}

#define TAG_OPEN(t, e, number, more) \
    M_EAT(t, e, .in = OUT, .gap = START | INSIDE, .to = REASON, .pair = number, \
          .rules = SPLIT_AT_LINE | SPLIT_TELLS | (more)), \
    M(t, .in = REASON, .to = SPLIT_STAY, .pair = number, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_NESTS | (more))
#define TAG_CLOSE(t, e, number, more) \
    M_EAT(t, e, .in = REASON, .to = OUT, .pair = number, \
          .rules = SPLIT_NOT_QUOTED | SPLIT_FENCED | (more)), \
    M_EAT(t, e, .in = OUT, .to = OUT, .pair = number, \
          .rules = SPLIT_NOT_QUOTED | SPLIT_AGAIN | (more)), \
    M_EAT(t, e, .gap = START, .to = SPLIT_STAY, .rules = SPLIT_STRAY | (more)), \
    M_EAT(t, e, .gap = BETWEEN, .to = SPLIT_STAY, .rules = SPLIT_STRAY | SPLIT_LATE | (more))
#define TAG(open, close, number) TAG_OPEN(open, "", number, 0), TAG_CLOSE(close, "", number, 0)

/* Tags that models confuse: each has its own number. A closer of another one also closes a block,
 * but stays ambiguous until the block's own closer comes or the text ends. */
enum { OWN, THINK_TAG = 101, THINKING_TAG, REASONING_TAG, ANALYSIS_TAG, THOUGHT_TAG, BUDGET_TAG };
#define SIBLING(t) \
    M(t, .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED | SPLIT_SIBLING), \
    M(t, .in = OUT, .to = OUT, .rules = SPLIT_NOT_QUOTED | SPLIT_SIBLING | SPLIT_AGAIN)
#define SIBLINGS \
    SIBLING("</think>"), SIBLING("</thinking>"), SIBLING("</reasoning>"), \
    SIBLING("</analysis>"), SIBLING("</thought>"), SIBLING("</budget:thinking>")
#define THINK TAG("<think>", "</think>", THINK_TAG), SIBLINGS

#define TOKEN_OPEN(t) \
    M(t, .in = ANSWERS, .gap = START | INSIDE, .to = REASON, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_TELLS), \
    M(t, .in = REASON, .to = SPLIT_STAY, .rules = SPLIT_NOT_QUOTED)
#define TOKEN_CLOSE(t) \
    M(t, .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED), \
    M(t, .in = ANSWERS, .gap = START | BETWEEN, .to = SPLIT_STAY, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_STRAY)
/* A token without meaning outside tools; models write it once too often after them. */
#define STRAY_TOKEN(t) \
    M(t, .in = ANSWERS, .gap = BETWEEN, .to = SPLIT_STAY, .rules = SPLIT_NOT_QUOTED | SPLIT_STRAY)
#define TOKEN(open, close) TOKEN_OPEN(open), TOKEN_CLOSE(close)

#define TOOLS_BY(open, close, number, where, more) \
    M(open, .in = where, .gap = BETWEEN, .to = IN_TOOLS, .pair = number, \
      .rules = SPLIT_NOT_QUOTED | (more)), \
    M(close, .in = IN_TOOLS, .to = OUT, .pair = number)
#define TOOLS(open, close, number, where) TOOLS_BY(open, close, number, where, 0)
#define ANYWHERE (ANSWERS | REASON)

#define WRAP_TAG(open, close) \
    M_EAT(open, "\n", .gap = START | AFTER, .to = WRAPPED), \
    M_EAT("\n" close, "\n", .in = WRAPPED, .to = OUT), \
    M_EAT(close, "\n", .in = WRAPPED, .to = OUT, .rules = SPLIT_NOT_QUOTED)
#define WRAP(open, close) \
    M(open, .in = OUT | REASON, .gap = START | AFTER, .to = WRAPPED, .rules = SPLIT_NOT_QUOTED), \
    M(close, .in = WRAPPED, .to = OUT, .rules = SPLIT_NOT_QUOTED), \
    M(close, .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY, \
      .rules = SPLIT_NOT_QUOTED)

/* A token that ends a message, wherever that is; between messages it is framing. */
#define TERMINATOR(t) \
    M(t, .in = WRAPPED | REASON | IN_TOOLS, .to = OUT, .rules = SPLIT_NOT_QUOTED), \
    M(t, .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY, .rules = SPLIT_NOT_QUOTED)

/* A token that begins a typed message, wherever that is. */
#define BLOCK(t, where) \
    M(t, .in = ANYWHERE, .gap = START | AFTER | BETWEEN, .to = where, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE | SPLIT_TELLS)

static const struct split_mark think[] = {THINK};
static const struct split_mark think_tool_call[] = {
    THINK, TOOLS("<tool_call>", "</tool_call>", 1, ANYWHERE)};
/* A call without its wrapper, as Qwen3-Coder writes when it forgets it; its end may come alone. */
#define BARE_FUNCTION(number) \
    TOOLS_BY("<function=", "</function>", number, ANSWERS, SPLIT_AT_LINE), \
    M("</tool_call>", .gap = BETWEEN, .to = SPLIT_STAY, .rules = SPLIT_STRAY)
static const struct split_mark qwen3[] = {
    THINK, TOOLS("<tool_call>", "</tool_call>", 1, ANYWHERE),
    BARE_FUNCTION(2)};
static const struct split_mark reka[] = {
    THINK, TOOLS("<tool_call>", "</tool_call>", 1, ANSWERS)};
static const struct split_mark nemotron[] = {
    THINK, TOOLS("<tool_call>", "</tool_call>", 1, ANYWHERE),
    TOOLS("<TOOLCALL>", "</TOOLCALL>", 2, ANYWHERE), BARE_FUNCTION(3)};
static const struct split_mark deepseek[] = {
    THINK,
    TOOLS("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", 1, ANYWHERE)};
static const struct split_mark deepseek_v32[] = {
    THINK,
    TOOLS("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", 1, ANYWHERE)};
static const struct split_mark deepseek_v4[] = {
    THINK,
    TOOLS("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", 1, ANYWHERE)};
static const struct split_mark kimi[] = {TAG("◁think▷", "◁/think▷", OWN)};
static const struct split_mark kimi_k2[] = {
    THINK,
    M("<think>", .in = TAIL, .to = REASON, .pair = THINK_TAG),
    TOOLS_BY("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", 1, ANYWHERE | TAIL,
             SPLIT_TO_TAIL),
    TOOLS_BY("<|tool_call_begin|>", "<|tool_call_end|>", 2, ANYWHERE | TAIL, SPLIT_TO_TAIL)};
#define K3(t, ...) M_EAT(t, "<|sep|>", __VA_ARGS__)
static const struct split_mark kimi_k3[] = {
    K3("<|open|>think", .in = ANSWERS, .gap = START | INSIDE | AFTER, .to = REASON,
       .rules = SPLIT_NOT_QUOTED | SPLIT_TELLS),
    K3("<|open|>think", .in = REASON, .to = SPLIT_STAY, .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>think", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>think", .in = ANSWERS, .gap = START | BETWEEN, .to = SPLIT_STAY,
       .rules = SPLIT_NOT_QUOTED),
    K3("<|open|>response", .in = OUT | REASON, .gap = START | AFTER, .to = WRAPPED,
       .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>response", .in = WRAPPED, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>response", .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY,
       .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>message", .in = WRAPPED | REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>message", .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY,
       .rules = SPLIT_NOT_QUOTED),
    K3("<|open|>message role=\"assistant\"", .in = OUT, .gap = START | AFTER, .to = SPLIT_STAY,
       .rules = SPLIT_NOT_QUOTED),
    M("<|end_of_msg|>", .in = WRAPPED | REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    M("<|end_of_msg|>", .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY,
      .rules = SPLIT_NOT_QUOTED),
    K3("<|open|>tools", .in = ANYWHERE, .gap = BETWEEN | AFTER, .to = IN_TOOLS, .pair = 1,
       .rules = SPLIT_NOT_QUOTED),
    K3("<|close|>tools", .in = IN_TOOLS, .to = OUT, .pair = 1)};
static const struct split_mark minimax_m2[] = {
    THINK,
    TOOLS("<minimax:tool_call>", "</minimax:tool_call>", 1, ANYWHERE)};
static const struct split_mark minimax_m3[] = {
    TAG("<mm:think>", "</mm:think>", OWN),
    TOOLS("]<]minimax[>[<tool_call>", "]<]minimax[>[</tool_call>", 1, ANYWHERE)};
static const struct split_mark seed_oss[] = {
    TAG("<seed:think>", "</seed:think>", OWN),
    TOOLS("<seed:tool_call>", "</seed:tool_call>", 1, ANYWHERE)};
static const struct split_mark step3p5[] = {
    TAG_OPEN("<think>", "", THINK_TAG, 0), TAG_CLOSE("\n</think>", "\n", THINK_TAG, 0),
    TAG_CLOSE("</think>", "\n", THINK_TAG, 0), SIBLINGS};
static const struct split_mark ernie45[] = {
    THINK, WRAP_TAG("<response>", "</response>")};
static const struct split_mark hunyuan[] = {
    TAG_OPEN("<think>", "\n", THINK_TAG, 0), TAG_CLOSE("\n</think>", "\n", THINK_TAG, 0),
    TAG_CLOSE("</think>", "\n", THINK_TAG, 0), SIBLINGS,
    WRAP_TAG("<answer>", "</answer>"), TOOLS("<tool_calls>", "</tool_calls>", 1, ANYWHERE)};
static const struct split_mark hy_v3[] = {
    TAG_OPEN("<think", "", THINK_TAG, SPLIT_SUFFIX),
    TAG_CLOSE("</think", "", THINK_TAG, SPLIT_SUFFIX), SIBLINGS,
    M("<tool_calls", .in = ANYWHERE, .gap = BETWEEN, .to = IN_TOOLS, .pair = 1,
      .rules = SPLIT_NOT_QUOTED | SPLIT_SUFFIX),
    M("</tool_calls", .in = IN_TOOLS, .to = OUT, .pair = 1, .rules = SPLIT_SUFFIX)};
static const struct split_mark mistral[] = {
    TOKEN("[THINK]", "[/THINK]"),
    M("[TOOL_CALLS]", .in = ANSWERS, .to = IN_TOOLS, .pair = 1, .rules = SPLIT_NOT_QUOTED)};
static const struct split_mark gemma4[] = {
    TOKEN_OPEN("<|channel>thought\n"), TOKEN_OPEN("<|channel>"),
    M("<|channel>thought<channel|>", .in = ANSWERS, .gap = START, .to = SPLIT_STAY,
      .rules = SPLIT_EMPTY),
    TOKEN_CLOSE("<channel|>"), TOOLS("<|tool_call>", "<tool_call|>", 1, ANYWHERE),
    STRAY_TOKEN("<tool_call|>"), STRAY_TOKEN("<|tool_response>")};
static const struct split_mark cohere[] = {
    TOKEN("<|START_THINKING|>", "<|END_THINKING|>"),
    WRAP("<|START_RESPONSE|>", "<|END_RESPONSE|>"), WRAP("<|START_TEXT|>", "<|END_TEXT|>"),
    TOOLS("<|START_ACTION|>", "<|END_ACTION|>", 1, ANYWHERE), STRAY_TOKEN("<|END_ACTION|>"),
    TERMINATOR("<|END_OF_TURN_TOKEN|>")};
static const struct split_mark granite[] = {
    M("Here is my thought process:", .gap = START, .to = REASON),
    M("Here's my thought process:", .gap = START, .to = REASON),
    M("Here is my response:", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    M("Here's my response:", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED)};
static const struct split_mark apriel[] = {
    M_EAT("Here are my reasoning steps:", "\n", .gap = START | INSIDE, .to = REASON),
    M("[BEGIN FINAL RESPONSE]", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    M("[BEGIN FINAL RESPONSE]", .gap = START, .to = SPLIT_STAY, .rules = SPLIT_STRAY),
    M("[END FINAL RESPONSE]", .in = OUT, .to = SPLIT_STAY, .rules = SPLIT_NOT_QUOTED),
    TOOLS("<tool_calls>", "</tool_calls>", 1, ANSWERS)};
static const struct split_mark apertus[] = {
    TOKEN("<|inner_prefix|>", "<|inner_suffix|>"),
    TOOLS_BY("<|tools_prefix|>", "<|tools_suffix|>", 1, ANYWHERE, SPLIT_BACK),
    STRAY_TOKEN("<|tools_suffix|>")};
static const struct split_mark lfm2[] = {
    THINK, TOOLS("<|tool_call_start|>", "<|tool_call_end|>", 1, ANSWERS)};
static const struct split_mark minicpm5[] = {
    THINK, TOOLS("<function name=", "</function>", 1, ANYWHERE)};
static const struct split_mark harmony[] = {
    M("<|channel|>", .rules = SPLIT_TELLS),
    M("<|start|>assistant<|channel|>", .rules = SPLIT_TELLS),
    TERMINATOR("<|end|>"), TERMINATOR("<|return|>"), TERMINATOR("<|call|>")};
static const struct split_mark muse[] = {TERMINATOR("<|eom|>"), TERMINATOR("<|eot|>")};
static const struct split_mark inkling[] = {
    BLOCK("<|content_thinking|>", REASON), BLOCK("<|content_text|>", WRAPPED),
    BLOCK("<|content_invoke_tool_text|>", WRAPPED), BLOCK("<|content_tool_error|>", WRAPPED),
    BLOCK("<|content_invoke_tool_json|>", IN_TOOLS),
    M("<|content_invoke_tool_json|>", .gap = START | AFTER | BETWEEN, .to = IN_TOOLS,
      .rules = SPLIT_MESSAGE | SPLIT_NAMED),
    M("<|message_model|>", .in = OUT, .gap = START | AFTER | BETWEEN, .to = SPLIT_STAY),
    TERMINATOR("<|end_message|>"), TERMINATOR("<|content_model_end_sampling|>")};
static const struct split_mark solar[] = {
    M("<|think|>", .in = ANSWERS, .gap = START | INSIDE | AFTER | BETWEEN, .to = REASON,
      .rules = SPLIT_NOT_QUOTED | SPLIT_TELLS),
    M("<|content|>", .in = OUT | REASON, .gap = START | AFTER | BETWEEN, .to = WRAPPED,
      .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE),
    M("<|tool_calls|>", .in = ANYWHERE, .gap = START | AFTER | BETWEEN, .to = IN_TOOLS,
      .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE),
    M("<|begin|>assistant", .in = OUT, .gap = START | INSIDE | AFTER | BETWEEN, .to = SPLIT_STAY,
      .rules = SPLIT_NOT_QUOTED),
    M("<|begin|>assistant", .in = WRAPPED | REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED),
    TERMINATOR("<|end|>"), TERMINATOR("<|calls|>"), TERMINATOR("<|flush|>")};
static const struct split_mark exaone[] = {
    TAG("<thought>", "</thought>", THOUGHT_TAG), SIBLINGS};
static const struct split_mark thinking[] = {
    TAG("<thinking>", "</thinking>", THINKING_TAG), SIBLINGS};
static const struct split_mark reasoning[] = {
    TAG("<reasoning>", "</reasoning>", REASONING_TAG), SIBLINGS};
static const struct split_mark analysis[] = {
    TAG("<analysis>", "</analysis>", ANALYSIS_TAG), SIBLINGS};
static const struct split_mark harmony_stripped[] = {
    M("analysis", .gap = START, .to = REASON), M("final", .gap = START, .to = SPLIT_STAY),
    M("commentary", .gap = START, .to = SPLIT_STAY),
    M("assistantfinal", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE),
    M("assistantcommentary", .in = REASON, .to = OUT, .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE),
    M("assistantanalysis", .in = OUT, .to = REASON, .rules = SPLIT_NOT_QUOTED),
    M("assistantfinal", .in = OUT, .gap = START, .to = SPLIT_STAY,
      .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE),
    M("assistantcommentary", .in = OUT, .gap = START, .to = SPLIT_STAY,
      .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE)};
static const struct split_mark generic_test[] = {TAG("<test:think>", "</test:think>", OWN)};
static const struct split_mark generic_alt[] = {TAG("<alt:start>", "<alt:end>", OWN)};

#define MARKS(m) .marks = m, .mark_count = COUNT_OF(m)

static const struct split_format formats[] = {
    {"think", "any model that writes <think>; the default", "varies", SPLIT_CALLS_NONE, false,
     MARKS(think)},
    {"deepseek_r1", "DeepSeek-R1 and its distillations, QwQ", "yes", SPLIT_CALLS_DEEPSEEK, false,
     MARKS(deepseek)},
    {"deepseek_v3", "DeepSeek-V3.1, Holo2, EXAONE 4", "varies", SPLIT_CALLS_DEEPSEEK, false,
     MARKS(deepseek)},
    {"cogito", "Cogito", "varies", SPLIT_CALLS_DEEPSEEK, false, MARKS(deepseek)},
    {"deepseek_v32", "DeepSeek-V3.2", "yes", SPLIT_CALLS_INVOKE, false, MARKS(deepseek_v32)},
    {"deepseek_v4", "DeepSeek-V4", "yes", SPLIT_CALLS_INVOKE, false, MARKS(deepseek_v4)},
    {"qwen3", "Qwen3, MiMo, dots, InternS1", "varies", SPLIT_CALLS_TAGGED, false, MARKS(qwen3)},
    {"glm45", "GLM-4.5 to 5", "varies", SPLIT_CALLS_TAGGED, false, MARKS(think_tool_call)},
    {"ling3", "Ling 3", "yes", SPLIT_CALLS_TAGGED, false, MARKS(think_tool_call)},
    {"kimi", "Kimi-VL, Kimi thinking", "no", SPLIT_CALLS_NONE, false, MARKS(kimi)},
    {"kimi_k2", "Kimi K2 Thinking, K2.5", "no", SPLIT_CALLS_KIMI_K2, false, MARKS(kimi_k2)},
    {"kimi_k3", "Kimi K3", "yes", SPLIT_CALLS_KIMI_K3, true, MARKS(kimi_k3)},
    {"minimax_m2", "MiniMax M1, M2", "yes", SPLIT_CALLS_INVOKE, false, MARKS(minimax_m2)},
    {"minimax_m3", "MiniMax M3", "varies", SPLIT_CALLS_INVOKE, false, MARKS(minimax_m3)},
    {"seed_oss", "Seed-OSS", "no", SPLIT_CALLS_TAGGED, false, MARKS(seed_oss)},
    {"step3", "Step-3, Step-3.5-Flash", "yes", SPLIT_CALLS_TAGGED, false, MARKS(qwen3)},
    {"step3p5", "Step-3.5, newlines around the closer are framing", "yes", SPLIT_CALLS_NONE, false,
     MARKS(step3p5)},
    {"ernie45", "ERNIE 4.5 Thinking", "yes", SPLIT_CALLS_NONE, false, MARKS(ernie45)},
    {"hunyuan", "Hunyuan A13B", "no", SPLIT_CALLS_JSON, false, MARKS(hunyuan)},
    {"hy_v3", "Hy3", "varies", SPLIT_CALLS_TAGGED, false, MARKS(hy_v3)},
    {"olmo3", "Olmo 3 Think", "yes", SPLIT_CALLS_NONE, false, MARKS(think)},
    {"nemotron_v3", "Nemotron Nano 2, Nemotron 3", "yes", SPLIT_CALLS_TAGGED, false,
     MARKS(nemotron)},
    {"mistral", "Magistral, Ministral 3, Mistral Small 4", "no", SPLIT_CALLS_MISTRAL, false,
     MARKS(mistral)},
    {"gemma4", "Gemma 4", "no", SPLIT_CALLS_GEMMA, true, MARKS(gemma4)},
    {"cohere", "Command A Reasoning, A+, R7B", "varies", SPLIT_CALLS_JSON, false, MARKS(cohere)},
    {"granite", "Granite 3.2", "no", SPLIT_CALLS_NONE, false, MARKS(granite)},
    {"granite33", "Granite 3.3", "no", SPLIT_CALLS_NONE, false, MARKS(ernie45)},
    {"apriel", "Apriel 1.5, 1.6", "yes", SPLIT_CALLS_JSON, false, MARKS(apriel)},
    {"apertus", "Apertus", "no", SPLIT_CALLS_APERTUS, false, MARKS(apertus)},
    {"lfm2", "LFM2, LFM2.5", "no", SPLIT_CALLS_PYTHONIC, false, MARKS(lfm2)},
    {"minicpm5", "MiniCPM5", "varies", SPLIT_CALLS_FUNCTION, false, MARKS(minicpm5)},
    {"reka", "Reka Edge", "varies", SPLIT_CALLS_TAGGED, false, MARKS(reka)},
    {"laguna", "Laguna", "varies", SPLIT_CALLS_TAGGED, false, MARKS(think_tool_call)},
    {"harmony", "gpt-oss", "no", SPLIT_CALLS_BODY, true, MARKS(harmony), split_header_harmony},
    {"harmony_stripped", "gpt-oss, from a server that drops its tokens", "no", SPLIT_CALLS_NONE,
     false, MARKS(harmony_stripped)},
    {"inkling", "Inkling", "no", SPLIT_CALLS_JSON, true, MARKS(inkling)},
    {"muse", "Muse Glimmer", "no", SPLIT_CALLS_INVOKE, true, MARKS(muse), split_header_muse},
    {"solar", "Solar Open", "no", SPLIT_CALLS_SOLAR, true, MARKS(solar)},
    {"exaone", "EXAONE Deep", "yes", SPLIT_CALLS_NONE, false, MARKS(exaone)},
    {"thinking", "any model asked for <thinking>", "no", SPLIT_CALLS_NONE, false, MARKS(thinking)},
    {"reasoning", "any model asked for <reasoning>", "no", SPLIT_CALLS_NONE, false,
     MARKS(reasoning)},
    {"analysis", "any model asked for <analysis>", "no", SPLIT_CALLS_NONE, false, MARKS(analysis)},
    {"generic_test", "a pair of one's own: <test:think>", "varies", SPLIT_CALLS_NONE, false,
     MARKS(generic_test)},
    {"generic_alt", "a pair of one's own: <alt:start>", "varies", SPLIT_CALLS_NONE, false,
     MARKS(generic_alt)},
};

/* Any tag that prompts ask for, where a regular expression would find it, but not in code. */
#define PROMPTED(open, close, number, closes) \
    M(open, .in = OUT, .gap = START, .to = REASON, .pair = number, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_NOT_CODE), \
    M(close, .in = REASON, .to = OUT, .pair = number, .rules = closes), \
    M(close, .in = OUT, .to = OUT, .pair = number, .rules = (closes) | SPLIT_AGAIN)
#define NESTED(open, number) \
    M(open, .in = REASON, .to = SPLIT_STAY, .pair = number, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_DEEPER)
#define PROMPTED_ALL(closes) \
    PROMPTED("<thinking>", "</thinking>", THINKING_TAG, closes), \
    PROMPTED("<reasoning>", "</reasoning>", REASONING_TAG, closes), \
    PROMPTED("<analysis>", "</analysis>", ANALYSIS_TAG, closes), \
    PROMPTED("<think>", "</think>", THINK_TAG, closes), \
    PROMPTED("<budget:thinking>", "</budget:thinking>", BUDGET_TAG, closes), SIBLINGS
static const struct split_mark prompted_first[] = {PROMPTED_ALL(0)};
static const struct split_mark prompted_flat[] = {PROMPTED_ALL(SPLIT_NOT_QUOTED)};
static const struct split_mark prompted_nested[] = {
    PROMPTED_ALL(SPLIT_NOT_QUOTED), NESTED("<thinking>", THINKING_TAG),
    NESTED("<reasoning>", REASONING_TAG), NESTED("<analysis>", ANALYSIS_TAG),
    NESTED("<think>", THINK_TAG), NESTED("<budget:thinking>", BUDGET_TAG)};
static const struct split_format prompted[SPLIT_PROMPTED_COUNT] = {
    [SPLIT_PROMPTED_NESTED] = {.id = "prompted", MARKS(prompted_nested)},
    [SPLIT_PROMPTED_FLAT] = {.id = "prompted", MARKS(prompted_flat)},
    [SPLIT_PROMPTED_FIRST] = {.id = "prompted", MARKS(prompted_first)},
};

/* A tag that we asked for counts inside a typed message or a wrapper as well. */
static const struct split_mark asked[] = {
    M("<thinking>", .in = ANSWERS, .gap = START | AFTER | BETWEEN, .to = REASON,
      .pair = THINKING_TAG, .rules = SPLIT_NOT_QUOTED | SPLIT_NOT_CODE | SPLIT_OUTER),
    M("<thinking>", .in = REASON, .to = SPLIT_STAY, .pair = THINKING_TAG,
      .rules = SPLIT_NOT_QUOTED | SPLIT_NESTS),
    M("</thinking>", .in = REASON, .to = OUT, .pair = THINKING_TAG,
      .rules = SPLIT_NOT_QUOTED | SPLIT_FENCED),
    M("</thinking>", .in = ANSWERS, .to = OUT, .pair = THINKING_TAG,
      .rules = SPLIT_NOT_QUOTED | SPLIT_AGAIN),
    SIBLINGS};
static const struct split_format asked_format = {
    .id = "thinking", .families = "any model that we asked for it", .inside = "no", MARKS(asked)};

/* The format of "auto" for a text that begins with <think>: its family is unknown, so the tool
 * markup of all of them counts, but only where it cannot be part of a sentence, and not in
 * reasoning. */
#define ANY_TOOLS(open, close, number, style) \
    M(open, .in = ANSWERS, .gap = BETWEEN, .to = IN_TOOLS, .pair = number, .calls = style, \
      .rules = SPLIT_NOT_QUOTED | SPLIT_AT_LINE), \
    M(close, .in = IN_TOOLS, .to = OUT, .pair = number)
static const struct split_mark think_any[] = {
    THINK,
    ANY_TOOLS("<tool_call>", "</tool_call>", 1, SPLIT_CALLS_TAGGED),
    ANY_TOOLS("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", 2, SPLIT_CALLS_DEEPSEEK),
    ANY_TOOLS("<｜DSML｜function_calls>", "</｜DSML｜function_calls>", 3, SPLIT_CALLS_INVOKE),
    ANY_TOOLS("<｜DSML｜tool_calls>", "</｜DSML｜tool_calls>", 4, SPLIT_CALLS_INVOKE),
    ANY_TOOLS("<minimax:tool_call>", "</minimax:tool_call>", 5, SPLIT_CALLS_INVOKE),
    ANY_TOOLS("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", 6,
              SPLIT_CALLS_KIMI_K2),
    ANY_TOOLS("<|tool_call_begin|>", "<|tool_call_end|>", 7, SPLIT_CALLS_KIMI_K2),
    ANY_TOOLS("<|tool_call_start|>", "<|tool_call_end|>", 8, SPLIT_CALLS_PYTHONIC),
    ANY_TOOLS("<tool_calls>", "</tool_calls>", 9, SPLIT_CALLS_TAGGED),
    ANY_TOOLS("<TOOLCALL>", "</TOOLCALL>", 10, SPLIT_CALLS_TAGGED),
    ANY_TOOLS("<function=", "</function>", 11, SPLIT_CALLS_TAGGED),
    ANY_TOOLS("<function name=", "</function>", 12, SPLIT_CALLS_FUNCTION),
    M("</tool_call>", .gap = BETWEEN, .to = SPLIT_STAY, .rules = SPLIT_STRAY)};
static const struct split_mark budget[] = {
    TAG("<budget:thinking>", "</budget:thinking>", BUDGET_TAG), SIBLINGS};
/* Formats that only "auto" picks, before those of the table. */
static const struct split_format picked[] = {
    {.id = "think", .families = "any model", .inside = "varies", MARKS(think_any)},
    {.id = "thinking", .families = "any model", .inside = "no", MARKS(budget)}};
static const struct split_format auto_format = {
    .id = "auto", .families = "any: the text's first marker decides", .inside = "no",
    .picks = true};
static const struct split_format plain_format = {
    .id = "none", .families = "text that is not split", .inside = "no"};
/* clang-format on */

const struct split_format *split_format_at(size_t index)
{
    return index < COUNT_OF(formats) ? &formats[index] : NULL;
}

const struct split_format *split_format_find(str id)
{
    if (str_eq(id, STR("auto")))
        return &auto_format;
    for (size_t i = 0; i < COUNT_OF(formats); i++)
        if (str_eq(id, str_c(formats[i].id)))
            return &formats[i];
    return NULL;
}

const struct split_format *split_format_auto(void)
{
    return &auto_format;
}

const struct split_format *split_format_plain(void)
{
    return &plain_format;
}

bool split_format_is_tag(const struct split_format *f)
{
    return f->mark_count > 0 && f->marks[0].pair >= THINK_TAG;
}

bool split_format_is_prompted(const struct split_format *f)
{
    return f->marks == reasoning || f->marks == analysis;
}

const struct split_format *split_format_asked(void)
{
    return &asked_format;
}

const struct split_format *split_format_picked(size_t index)
{
    return index < COUNT_OF(picked) ? &picked[index] : split_format_at(index - COUNT_OF(picked));
}

const struct split_format *split_format_prompted(enum split_prompted reading)
{
    assert(reading < SPLIT_PROMPTED_COUNT);
    return &prompted[reading];
}

static bool split_marker_is_fit(const char *which, str marker, struct err *e)
{
    if (marker.n == 0 || marker.n > SPLIT_MARK_MAX)
        return err_input(e,
                         "the %s marker has %zu bytes; it must have 1 to %d",
                         which,
                         marker.n,
                         SPLIT_MARK_MAX);
    if (!utf8_valid(marker))
        return err_input(e, "the %s marker is not UTF-8", which);
    if (str_trim(marker).p != marker.p)
        return err_input(e, "the %s marker begins with white space", which);
    return true;
}

bool split_pair_init(struct split_pair *pair, str open, str close, struct err *e)
{
    static const struct split_mark shape[SPLIT_PAIR_MARKS] = {TAG("<o>", "</o>", OWN)};

    if (!split_marker_is_fit("opening", open, e) || !split_marker_is_fit("closing", close, e))
        return false;
    if (str_eq(open, close))
        return err_input(e, "the opening and the closing marker are the same");
    for (size_t i = 0; i < COUNT_OF(shape); i++) {
        pair->marks[i] = shape[i];
        pair->marks[i].text = shape[i].text.p[1] == '/' ? close : open;
    }
    pair->format = (struct split_format){
        .id = "pair",
        .families = "a pair given by the user",
        .inside = "varies",
        .marks = pair->marks,
        .mark_count = COUNT_OF(shape),
    };
    return true;
}
