"""From encoding to a served model, with values worked out by hand. One module, since TensorFlow starts slowly."""

import importlib
import json
import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from flowc import Blessing, ComponentError, Dataset, Model, TransformGraph
from flowc.engine.surroundings import own_surroundings
from flowc_components import Feature, evaluate, predict, serve, split, train, transform
from flowc_components.keras_files import load_model
from flowc_components.serve import export, try_out
from flowc_components.train import Trained
from flowc_components.transform import FeatureKind, encode

BARE = """
import json, sys
import tensorflow as tf
signature = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
answer = signature(
    area=tf.constant([8.0, float("nan")], tf.float64),
    fare=tf.constant([12.45, float("nan")], tf.float64),
    payment=tf.constant(["Cash", ""]),
)
print(json.dumps([answer["probability"].numpy().tolist(), [name for name in sys.modules if "flowc" in name]]))
"""


@pytest.fixture(scope="module", autouse=True)
def _own_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Train as a worker would: what that sets for the whole process does not stay for the tests of other modules."""
    importlib.import_module("tensorflow")
    with own_surroundings(tmp_path_factory.getbasetemp(), forget_modules=False):
        yield


def encoded(data: dict[str, Any], features: dict[str, FeatureKind | Feature], asked: dict[str, Any]) -> Any:
    graph = transform(Dataset(pa.table(data)), features)
    return encode(load_model(graph.path), pa.table(asked))


def test_numbers_are_normalised_by_the_training_split_and_missing_ones_are_its_mean() -> None:
    # The mean of 1 and 3 is 2, and stands for the missing one: variance (1 + 1 + 0) / 3.
    asked = {"fare": [1.0, 2.0, None, math.inf, 5.0]}
    result = encoded({"fare": [1.0, 3.0, None]}, {"fare": "float_normalized"}, asked)
    deviation = math.sqrt(2 / 3)
    assert result[:, 0].tolist() == pytest.approx([-1 / deviation, 0, 0, 0, 3 / deviation], rel=1e-6)


def test_a_fill_stands_for_missing_numbers() -> None:
    features: dict[str, FeatureKind | Feature] = {"fare": Feature(kind="float", fill=-1.0)}
    assert encoded({"fare": [1, 3]}, features, {"fare": [None, 7]}).tolist() == [[-1.0], [7.0]]


def test_numbers_fall_into_bins_of_equal_count() -> None:
    features: dict[str, FeatureKind | Feature] = {"fare": Feature(kind="float_discretized", bins=2)}
    result = encoded({"fare": [1.0, 2.0, 8.0, 9.0]}, features, {"fare": [0.0, 100.0]})
    assert result.tolist() == [[1, 0], [0, 1]]


def test_categories_have_places_for_the_unseen_and_the_missing() -> None:
    # Places: unseen, then by frequency: "a", missing, "b". Ties of frequency do not arise.
    trained = {"pay": ["a", "a", "a", None, None, "b"]}
    result = encoded(trained, {"pay": "string_categorical"}, {"pay": ["b", None, "new", "a"]})
    assert result.argmax(axis=1).tolist() == [3, 2, 0, 1]
    assert result.sum(axis=1).tolist() == [1, 1, 1, 1]


def test_integers_beyond_32_bits_are_categories_too() -> None:
    tract = 17_031_081_401
    trained = {"tract": [tract, tract, tract, None, None, 7]}
    result = encoded(trained, {"tract": "integer_categorical"}, {"tract": [tract, None, 7, 8]})
    assert result.argmax(axis=1).tolist() == [1, 2, 3, 0]


def test_rare_categories_are_as_the_unseen() -> None:
    features: dict[str, FeatureKind | Feature] = {"pay": Feature(kind="string_categorical", max_categories=1)}
    result = encoded({"pay": ["a", "a", "b"]}, features, {"pay": ["a", "b"]})
    assert result.tolist() == [[0, 1], [1, 0]]


def test_hashed_features_spread_over_their_bins() -> None:
    features: dict[str, FeatureKind | Feature] = {
        "id": Feature(kind="integer_hashed", bins=4),
        "name": Feature(kind="string_hashed", bins=3),
    }
    data = {"id": list(range(40)), "name": [f"n{number}" for number in range(40)]}
    result = encoded(data, features, data)
    assert result.shape == (40, 7)
    assert (result.sum(axis=1) == 2).all()
    assert (result.sum(axis=0) > 0).all()


@pytest.mark.parametrize(
    ("column", "kind", "said"),
    [
        (pa.array([3.0, 3.0]), "float_normalized", "column 'x' is constant: 3.0 in all 2 rows"),
        (pa.array([3.0, 3.0, None]), "float", "column 'x' is constant: 3.0 in all 2 rows that have a value"),
        (pa.array([None, None], pa.float64()), "float", "column 'x' has no value: all 2 rows are missing"),
        (pa.nulls(3), "string_categorical", "column 'x' has no value: all 3 rows are missing"),
        (pa.array([1.0, math.inf, 2.0]), "float", "column 'x' holds 1 infinite value(s) in 3 rows"),
        (pa.array([1.0, 2.5]), "integer_categorical", "column 'x' holds 1 value(s) that are no integers"),
        (pa.array(["a", "b"]), "float", "column 'x' is string, and a number is needed"),
        (pa.array([1.0, 2.0]), "string_hashed", "column 'x' is double, and a text is needed"),
        (
            pa.array([0, 1], pa.timestamp("us")),
            "float",
            "column 'x' is timestamp[us], and a number is needed",
        ),
        (pa.array([1, 2**60]), "integer_hashed", "column 'x' holds 1 integer(s) beyond 2^53"),
    ],
)
def test_columns_that_nothing_can_be_learnt_from_are_refused(
    column: pa.Array, kind: FeatureKind, said: str
) -> None:
    with pytest.raises(ComponentError, match=re.escape(said)) as caught:
        transform(Dataset(pa.table({"x": column})), {"x": kind})
    assert caught.value.hint


def test_wrong_features_are_refused() -> None:
    data = Dataset(pa.table({"fare": [1.0, 2.0], "trip miles": [1.0, 2.0]}))
    with pytest.raises(ComponentError, match="no column 'fair'") as caught:
        transform(data, {"fair": "float"})
    assert caught.value.hint == "did you mean 'fare'?"
    with pytest.raises(ComponentError, match="no kind of feature 'float_normalised'") as caught:
        transform(data, {"fare": "float_normalised"})  # type: ignore[dict-item]
    assert caught.value.hint == "did you mean 'float_normalized'?"
    with pytest.raises(ComponentError, match="can't take a column named 'trip miles'"):
        transform(data, {"trip miles": "float"})
    with pytest.raises(ComponentError, match="no features"):
        transform(data, {})


def trips(rows: int = 600) -> Dataset:
    """Trips by card are tipped well above a fare of 10, others never."""
    draw = np.random.default_rng(0)
    fare, card = draw.uniform(0, 20, rows).round(2), draw.random(rows) < 0.5
    area = draw.integers(1, 5, rows)
    return Dataset(
        pa.table(
            {
                "fare": pa.array(fare, mask=draw.random(rows) < 0.05),
                "area": pa.array(area, mask=draw.random(rows) < 0.05),
                "payment": np.where(card, "Card", "Cash"),
                "big_tip": (card & (fare > 10)).astype(int),
            }
        )
    )


FEATURES: dict[str, FeatureKind | Feature] = {
    "fare": "float_normalized",
    "area": "integer_categorical",
    "payment": "string_categorical",
}


@pytest.fixture(scope="module")
def parts() -> tuple[Dataset, Dataset]:
    return split(trips())


@pytest.fixture(scope="module")
def graph(parts: tuple[Dataset, Dataset]) -> TransformGraph:
    return transform(parts[0], FEATURES)


@pytest.fixture(scope="module")
def trained(parts: tuple[Dataset, Dataset], graph: TransformGraph) -> Trained:
    return train(parts[0], graph, "big_tip", epochs=20, batch_size=32, learning_rate=0.01)


def test_equal_training_gives_equal_files(
    parts: tuple[Dataset, Dataset], graph: TransformGraph, trained: Trained
) -> None:
    assert transform(parts[0], FEATURES).path.read_bytes() == graph.path.read_bytes()
    first, again, other = (train(parts[0], graph, "big_tip", epochs=1, seed=seed) for seed in (1, 1, 2))
    assert first.model.path.read_bytes() == again.model.path.read_bytes()
    assert first.metrics == again.metrics
    assert first.model.path.read_bytes() != other.model.path.read_bytes()
    assert len(trained.metrics.history["loss"]) == 20
    assert trained.metrics["loss"] == trained.metrics.history["loss"][-1]


def test_a_learnable_rule_is_learnt_and_blessed(parts: tuple[Dataset, Dataset], trained: Trained) -> None:
    evaluation, blessing = evaluate(trained.model, parts[1], "big_tip", min_auc=0.97, max_log_loss=0.3)
    assert blessing.blessed, blessing.reasons
    assert evaluation.rows == len(parts[1])
    assert [(each.metric, each.passed) for each in evaluation.thresholds] == [
        ("auc", True),
        ("log_loss", True),
    ]
    assert evaluation.metrics["base_rate"] == pytest.approx(np.mean(parts[1].table["big_tip"].to_numpy()))


def test_a_missed_threshold_is_a_reason(parts: tuple[Dataset, Dataset], trained: Trained) -> None:
    _, blessing = evaluate(trained.model, parts[1], "big_tip", min_accuracy=1.01)
    assert not blessing
    assert blessing.reasons[0].endswith("not at least 1.01")


def test_predictions_stand_beside_the_data(parts: tuple[Dataset, Dataset], trained: Trained) -> None:
    predicted = predict(trained.model, parts[1])
    assert predicted.column_names == [*parts[1].column_names, "probability"]
    ones = predict(trained.model, Dataset(parts[1].table.slice(3, 1)))
    assert ones.table["probability"][0].as_py() == pytest.approx(
        predicted.table["probability"][3].as_py(), abs=1e-6
    )
    with pytest.raises(ComponentError, match="no column 'fare'"):
        predict(trained.model, Dataset(parts[1].table.drop(["fare"])))


def test_wrong_training_is_refused(parts: tuple[Dataset, Dataset], graph: TransformGraph) -> None:
    def two_outputs(inputs: Any) -> Any:
        import keras

        return keras.layers.Dense(2)(inputs)

    with pytest.raises(ComponentError, match=r"'two_outputs' returned shape \(None, 2\)"):
        train(parts[0], graph, "big_tip", two_outputs)

    def logits(inputs: Any) -> Any:
        import keras

        return 1000 * keras.layers.Dense(1)(inputs)

    with pytest.raises(ComponentError, match="a value that is no probability"):
        predict(train(parts[0], graph, "big_tip", logits, epochs=1).model, parts[1])
    with pytest.raises(ComponentError, match="epochs is a number above 0, not 0"):
        train(parts[0], graph, "big_tip", epochs=0)
    with pytest.raises(ComponentError, match="the label 'area' is missing in"):
        train(parts[0], graph, "area")
    leaking = transform(parts[0], {**FEATURES, "big_tip": "integer_categorical"})
    with pytest.raises(ComponentError, match="the label 'big_tip' is among the features"):
        train(parts[0], leaking, "big_tip")
    with pytest.raises(ComponentError, match="there is one class only"):
        train(Dataset(parts[0].table.slice(0, 1)), graph, "big_tip")


def test_a_file_that_is_no_model_is_refused(parts: tuple[Dataset, Dataset], tmp_path: Path) -> None:
    (tmp_path / "model.keras").write_text("nothing")
    with pytest.raises(ComponentError, match="can't be loaded as a Keras model"):
        predict(Model(tmp_path / "model.keras"), parts[1])


def test_a_served_model_answers_raw_rows_as_the_pipeline_does(
    parts: tuple[Dataset, Dataset], trained: Trained, tmp_path: Path
) -> None:
    (tmp_path / "taxi" / "7").mkdir(parents=True)
    served = serve(trained.model, Blessing(blessed=True), parts[1], tmp_path, "taxi")
    assert (served.path / "taxi" / "8" / "saved_model.pb").is_file()
    assert sorted(each.name for each in (tmp_path / "taxi").iterdir()) == ["7", "8"]

    rows = pa.table({"fare": [12.45, None], "area": [8, None], "payment": ["Cash", None]})
    expected = predict(trained.model, Dataset(rows)).table["probability"].to_pylist()
    folder = str(tmp_path / "taxi" / "8")
    done = subprocess.run([sys.executable, "-c", BARE, folder], capture_output=True, text=True, check=True)
    answers, ours = json.loads(done.stdout.splitlines()[-1])
    assert answers == pytest.approx(expected, abs=1e-6)
    assert ours == []


def test_a_model_without_blessing_is_not_published(
    parts: tuple[Dataset, Dataset], trained: Trained, tmp_path: Path
) -> None:
    refusal = Blessing(blessed=False, reasons=("auc is 0.5000, not at least 0.8",))
    with pytest.raises(ComponentError, match=r"not blessed(.|\n)*auc is 0.5000, not at least 0.8"):
        serve(trained.model, refusal, parts[1], tmp_path / "served", "taxi")
    with pytest.raises(ComponentError, match="can't be named 'a/b'"):
        serve(trained.model, Blessing(blessed=True), parts[1], tmp_path / "served", "a/b")
    assert not (tmp_path / "served").exists()


def test_an_export_that_answers_otherwise_is_found_out(
    parts: tuple[Dataset, Dataset], graph: TransformGraph, trained: Trained, tmp_path: Path
) -> None:
    export(train(parts[0], graph, "big_tip", epochs=1).model, tmp_path / "other")
    with pytest.raises(ComponentError, match=r"the pipeline's own prediction is .*; it was not published"):
        try_out(trained.model, tmp_path / "other", parts[1])


def test_the_documentation_is_a_session_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "components.md").read_text()
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {"__name__": "session"}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, session)
