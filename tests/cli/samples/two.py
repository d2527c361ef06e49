"""Two pipelines, so that a target has to name one; and one that is wrong in two places."""

from flowc import component, pipeline


@component
def number() -> int:
    return 1


@component
def text(word: str) -> str:
    return word


@pipeline
def first():
    return number()


@pipeline
def wrong():
    text(number())
    return text(word=number())
