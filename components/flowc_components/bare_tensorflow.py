"""A script that asks a SavedModel for probabilities with nothing but TensorFlow, as a server would.

    python bare_tensorflow.py FOLDER < requests.json

Each request maps raw columns to their values; the output's last line has, for each, the list of answers.
"""

import json
import sys
from typing import Any

import tensorflow as tf


def main() -> None:
    """Read requests, ask, write the answers."""
    signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
    types = {name: spec.dtype for name, spec in signature.structured_input_signature[1].items()}

    def answer(request: dict[str, list[Any]]) -> Any:
        columns = {name: tf.constant(values, types[name]) for name, values in request.items()}
        return signature(**columns)["probability"].numpy().tolist()

    sys.stdout.write(json.dumps([answer(request) for request in json.load(sys.stdin)]) + "\n")


if __name__ == "__main__":
    main()
