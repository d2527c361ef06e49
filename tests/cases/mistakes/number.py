from flowc import Metrics, component, pipeline


@component
def read_epochs(config: str) -> str: ...


@component
def train(epochs: int) -> Metrics: ...


@pipeline
def training(config: str):
    return train(read_epochs(config), epoks=3)
