# SPDX-License-Identifier: MIT
"""Writes keras_*.onnx beside this file, with inputs and Keras's own outputs in keras_*.npz.

python tests/host/onnx_files/from_keras.py     # made with TensorFlow 2.15, tf2onnx 1.16
"""

from pathlib import Path

import numpy as np
import tensorflow as tf
import tf2onnx
from tensorflow.keras import layers

FOLDER = Path(__file__).resolve().parent


def sequential():
    """As tutorials write it: convolutions, max pooling, a flattened map, softmax."""
    return tf.keras.Sequential(
        [
            layers.Input((12, 10, 2)),
            layers.Conv2D(6, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.SeparableConv2D(8, 3, padding="same"),
            layers.BatchNormalization(),
            layers.ReLU(),
            layers.Dropout(0.3),
            layers.Flatten(),
            layers.Dense(9, activation="relu"),
            layers.Dense(4, activation="softmax"),
        ]
    )


def mobile():
    """ReLU6, strides with SAME padding on odd edges, a residual, global pooling."""
    x = start = layers.Input((13, 15, 3))
    x = layers.Conv2D(8, 3, 2, "same", use_bias=False)(x)
    x = short = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.ReLU(6.0)(layers.BatchNormalization()(layers.Conv2D(12, 1, use_bias=False)(x)))
    x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(x))
    x = layers.ZeroPadding2D(((1, 0), (0, 2)))(layers.Add()([short, x]))
    x = layers.DepthwiseConv2D(3, 2, use_bias=True)(x)
    return tf.keras.Model(start, layers.Dense(5)(layers.GlobalAveragePooling2D()(x)))


def signal():
    """One dimension: a sensor's channels over time."""
    return tf.keras.Sequential(
        [
            layers.Input((40, 6)),
            layers.Conv1D(8, 5, 2, activation="relu"),
            layers.Conv1D(8, 3, padding="same", activation="relu"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(3),
        ]
    )


def counted():
    """One dimension with max and average pooling, and a flattened map."""
    return tf.keras.Sequential(
        [
            layers.Input((41, 3)),
            layers.Conv1D(6, 7, 3, padding="same"),
            layers.ReLU(),
            layers.MaxPooling1D(2),
            layers.Conv1D(5, 3),
            layers.AveragePooling1D(2),
            layers.Flatten(),
            layers.Dense(4, activation="softmax"),
        ]
    )


def perceptron():
    return tf.keras.Sequential(
        [
            layers.Input((12,)),
            layers.Dense(10, activation="relu"),
            layers.Dense(3),
        ]
    )


# name: (model, whether the number of samples stays open, version of ONNX's operators)
MODELS = {
    "sequential": (sequential, True, 15),
    "mobile": (mobile, False, 13),
    "signal": (signal, True, 17),
    "counted": (counted, False, 15),
    "perceptron": (perceptron, True, 11),
}


def used(model):
    """Give a model what training leaves: statistics and factors that are not 0 and 1."""
    random = np.random.default_rng(3)
    for layer in model.layers:
        if isinstance(layer, layers.BatchNormalization):
            count = layer.get_weights()[0].shape
            layer.set_weights(
                [
                    random.uniform(low, high, count)
                    for low, high in ((0.5, 1.5), (-0.3, 0.3), (-0.5, 0.5), (0.5, 2))
                ]
            )
    return model


def main():
    for name, (make, is_open, opset) in MODELS.items():
        tf.keras.utils.set_random_seed(len(name))
        model = used(make())
        shape = model.input_shape[1:]
        x = np.random.default_rng(1).normal(0, 1, (6, *shape)).astype(np.float32)
        spec = tf.TensorSpec((None if is_open else 1, *shape), tf.float32, name="x")
        tf2onnx.convert.from_keras(
            model, (spec,), opset=opset, output_path=str(FOLDER / f"keras_{name}.onnx")
        )
        np.savez_compressed(FOLDER / f"keras_{name}.npz", x=x, y=model.predict(x, verbose=0))


if __name__ == "__main__":
    main()
