// SPDX-License-Identifier: MIT
export function start() {}
export function open() {}
