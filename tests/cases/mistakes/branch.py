from flowc import Model, component, pipeline


@component
def evaluate() -> float: ...


@component
def serve(auc: float) -> Model: ...


@pipeline
def serving():
    auc = evaluate()
    if auc > 0.8:
        serve(auc)
