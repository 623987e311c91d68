// SPDX-License-Identifier: MIT
#define assert(x) ((void)0)
