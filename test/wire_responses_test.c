/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
TEST(nothing) { }
TEST_MAIN(T(nothing))
