"""Will a taxi trip in Chicago end with a big tip? From a CSV file to a served model, in one pipeline.

Run it: `flowc run examples/taxi/taxi.py --epochs 3`.
"""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BaseModel

from flowc import Dataset, component, pipeline
from flowc_components import Feature, FeatureKind, evaluate, ingest, serve, split, train, transform, validate


class Trip(BaseModel):
    """What is known of a trip when it ends, as far as this example uses it."""

    fare: float
    tips: float
    trip_miles: float
    trip_seconds: int | None
    trip_start_hour: int
    trip_start_day: int
    trip_start_month: int
    pickup_latitude: float | None
    pickup_longitude: float | None
    pickup_community_area: int | None
    dropoff_community_area: int | None
    payment_type: str
    company: str | None


class LabelledTrip(Trip):
    """A trip, and whether its tip was big: 1 or 0."""

    big_tip: int


# The tip itself is not among them: it is what the label is made of.
FEATURES: dict[str, FeatureKind | Feature] = {
    "fare": "float_normalized",
    "trip_miles": "float_normalized",
    "trip_seconds": "float_normalized",
    "trip_start_hour": "integer_categorical",
    "trip_start_day": "integer_categorical",
    "trip_start_month": "integer_categorical",
    "pickup_latitude": Feature(kind="float_discretized", bins=10),
    "pickup_longitude": Feature(kind="float_discretized", bins=10),
    "pickup_community_area": "integer_categorical",
    "dropoff_community_area": "integer_categorical",
    "payment_type": "string_categorical",
    "company": Feature(kind="string_categorical", max_categories=20),
}


@component
def label(trips: Dataset[Trip], share: float = 0.2) -> Dataset[LabelledTrip]:
    """Call a tip big that is more than this share of the fare."""
    big_tip = pc.greater(trips.table["tips"], pc.multiply(trips.table["fare"], share))
    return Dataset(trips.table.append_column("big_tip", big_tip.cast(pa.int64())))


def network(encoded: Any) -> Any:
    """Return the probability of a big tip: two hidden layers on the encoded features."""
    from keras import layers

    hidden = layers.Dense(64, activation="relu")(encoded)
    hidden = layers.Dense(16, activation="relu")(hidden)
    return layers.Dense(1, activation="sigmoid")(hidden)


@pipeline
def taxi(
    csv: Path = Path("chicago_taxi.csv"),
    schema: Path = Path("schema.pbtxt"),
    destination: Path = Path("served"),
    epochs: int = 5,
    min_auc: float = 0.9,
) -> dict[str, Any]:
    """Train on four trips of five, judge by the fifth, and serve the model if it is good enough."""
    checked = validate(ingest(csv), schema)
    trips = split(label(checked.data), eval_fraction=0.2)
    encoding = transform(trips.train, FEATURES)
    model, metrics = train(trips.train, encoding, "big_tip", network, epochs=epochs)
    evaluation, blessing = evaluate(model, trips.eval, "big_tip", min_auc=min_auc)
    served = serve(model, blessing, trips.eval, destination, "taxi")
    return {"metrics": metrics, "evaluation": evaluation, "served": served}
