# SPDX-License-Identifier: MIT
"""A Keras network for a board that goes on learning; docs/training.md says how it goes on.

    pip install tensorflow scikit-learn
    python examples/network_from_keras.py

It trains on upright digits and writes net.tflite in int8, net_float.tflite (the same network as
the converter leaves it without samples), samples.npy (what the network knows) and user.npz (what
one user will show it: digits turned and inverted).
"""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow.keras import layers

EPOCHS = 30


def make():
    """Two separable convolutions, as MobileNet has them; a prediction for each of ten digits."""
    return tf.keras.Sequential(
        [
            layers.Input((8, 8, 1)),
            layers.Conv2D(16, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.SeparableConv2D(32, 3, strides=2, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.SeparableConv2D(32, 3, padding="same", use_bias=False),
            layers.BatchNormalization(),
            layers.ReLU(6.0),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )


def convert(model, samples=None):
    """Return the bytes of a TensorFlow Lite file; int8 throughout where samples are given."""
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    if samples is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([row[None]] for row in samples)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter.convert()


def digits():
    """Return (images (count, 8, 8, 1) from 0 to 1, labels) in a fixed random order."""
    data = load_digits()
    order = np.random.default_rng(1).permutation(len(data.images))
    return (data.images[order] / 16).astype(np.float32)[..., None], data.target[order]


def user_data(x, labels):
    """Return the arrays of user.npz: 200 digits to learn from, 100 to choose by, the others."""
    turned = np.ascontiguousarray(1 - np.rot90(x[900:], axes=(1, 2)))
    parts = {"": slice(200), "_validate": slice(200, 300), "_test": slice(300, None)}
    arrays = {}
    for name, part in parts.items():
        arrays["x" + name] = turned[part].reshape(-1, 1, 8, 8)  # channels first, as ONNX
        arrays["labels" + name] = labels[900:][part]
    return arrays


def main():
    tf.keras.utils.set_random_seed(1)
    x, labels = digits()
    model = make()
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(tf.keras.optimizers.Adam(0.01), loss)
    model.fit(x[:900], labels[:900], batch_size=32, epochs=EPOCHS, verbose=0)
    for name, samples in (("net.tflite", x[:300]), ("net_float.tflite", None)):
        with open(name, "wb") as file:
            file.write(convert(model, samples))
    np.save("samples.npy", x[:300].reshape(-1, 1, 8, 8))
    np.savez("user.npz", **user_data(x, labels))
    right = (model.predict(x[900:], verbose=0).argmax(1) == labels[900:]).mean()
    print(f"upright digits that it never saw: {right:.1%} right")


if __name__ == "__main__":
    main()
