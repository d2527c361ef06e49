from pydantic import BaseModel

from flowc import Dataset, component, pipeline


class Trip(BaseModel):
    fare: float
    miles: float


class RatedTrip(Trip):
    rating: int


@component
def load() -> Dataset[Trip]: ...


@component
def rank(trips: Dataset[RatedTrip]) -> Dataset[RatedTrip]: ...


@pipeline
def ranking():
    return rank(load())
