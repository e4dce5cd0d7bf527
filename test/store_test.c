/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"
TEST(a){} 
TEST_MAIN(T(a))
