// SPDX-License-Identifier: MIT
#include "../common.h"
