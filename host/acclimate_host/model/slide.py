# SPDX-License-Identifier: MIT
"""Convolutions over batches with numpy: windows, sums, and their gradients.

Arrays are (batch, channels, height, width), weights (outputs, inputs of the group, height,
width). Integers come as float64, in which sums below 2^53 are exact.
"""

import numpy as np

from .graph import geometry


def windows(x, attrs, fill=0):
    """Return a view (batch, channels, rows, columns, kernel height, kernel width) of padded x."""
    shape = geometry(attrs)
    top, left, bottom, right = shape.pad
    if any(shape.pad):
        x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(x, shape.kernel, (2, 3))
    return view[:, :, :: shape.stride[0], :: shape.stride[1]]


def conv(x, weight, attrs):
    """Return the sums of a convolution without bias."""
    outputs, depth, *kernel = weight.shape
    groups = attrs.get("groups", 1)
    if kernel == [1, 1] and groups == 1 and geometry(attrs).pad == (0, 0, 0, 0):
        rows, columns = geometry(attrs).stride
        x = x[:, :, ::rows, ::columns]
        sums = np.matmul(weight[:, :, 0, 0], x.reshape(len(x), x.shape[1], -1))
        return sums.reshape(len(x), outputs, *x.shape[2:])
    view = windows(x, attrs)
    if depth == 1 and groups == outputs:
        return np.einsum("nchwkl,ckl->nchw", view, weight[:, 0], optimize=True)
    n, _, height, width = view.shape[:4]
    view = view.reshape(n, groups, depth, height, width, *kernel)
    view = view.transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, n * height * width, -1)
    sums = view @ weight.reshape(groups, outputs // groups, -1).transpose(0, 2, 1)
    sums = sums.reshape(groups, n, height, width, -1).transpose(1, 0, 4, 2, 3)
    return sums.reshape(n, outputs, height, width)


def weight_gradient(x, g, attrs, shape):
    """Return dL/dW summed over the batch, of a weight of `shape`."""
    view = windows(x, attrs)
    outputs, depth, *kernel = shape
    groups = attrs.get("groups", 1)
    if depth == 1 and groups == outputs:
        return np.einsum("nchwkl,nchw->ckl", view, g, optimize=True)[:, None]
    n, _, height, width = view.shape[:4]
    view = view.reshape(n, groups, depth, height, width, *kernel)
    view = view.transpose(1, 0, 3, 4, 2, 5, 6).reshape(groups, n * height * width, -1)
    g = g.reshape(n, groups, outputs // groups, -1).transpose(1, 2, 0, 3)
    return (g.reshape(groups, outputs // groups, -1) @ view).reshape(shape)


def input_gradient(g, weight, attrs, shape):
    """Return dL/dx, of an input of `shape` (channels, height, width)."""
    form, groups = geometry(attrs), attrs.get("groups", 1)
    top, left, bottom, right = form.pad
    n, (channels, height, width) = len(g), shape
    padded = np.zeros((n, channels, height + top + bottom, width + left + right), g.dtype)
    rows, columns = g.shape[2:]
    spread = g.reshape(n, groups, -1, rows * columns)
    matrix = weight.reshape(groups, weight.shape[0] // groups, weight.shape[1], -1)
    for k in range(matrix.shape[3]):
        row, column = divmod(k, form.kernel[1])
        part = np.matmul(matrix[:, :, :, k].transpose(0, 2, 1), spread)
        padded[
            :,
            :,
            row : row + form.stride[0] * rows : form.stride[0],
            column : column + form.stride[1] * columns : form.stride[1],
        ] += part.reshape(n, channels, rows, columns)
    return padded[:, :, top : top + height, left : left + width]
