/* Thought, Action and Action Input in arbitrary text: each is a part of the text, or JSON if it
 * contains JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/react.h"
#include "base/utf8.h"

#define INPUT_MAX 65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str s = {(const char *)data, size < INPUT_MAX ? size : INPUT_MAX};
    struct react_reply r;
    struct arena a;

    arena_init(&a, 16 * INPUT_MAX + 65536);
    react_read(s, &a, &r);
    assert(r.thought.n <= s.n && r.action.n <= s.n && r.answer.n <= s.n);
    assert(r.has_action || !r.has_answer || r.answer.p >= s.p || r.answer.n == 0);
    assert(!r.has_action || r.input.n > 0);
    if (utf8_valid(s))
        assert(utf8_valid(r.thought) && utf8_valid(r.answer) && utf8_valid(r.input));
    arena_release(&a);
    return 0;
}
