# SPDX-License-Identifier: MIT
"""The C cores of the boards in CPython: importing ``net``, ``svm`` or ``codec`` puts one in use.

Each module has ``load(path=None)``, an object with the functions of the native module, or None
where `make twin` has not built the library, and ``register()`` for the device package.
"""
