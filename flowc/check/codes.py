"""The diagnostic codes of the graph and of types, each with what it means. Notebooks' codes are beside theirs."""

from __future__ import annotations

CODES: dict[str, str] = {
    "FC001": "the file is not JSON, or not UTF-8",
    "FC002": "the JSON is not a compiled pipeline",
    "FC003": "the pipeline was compiled for another version of the IR",
    "FC030": "the file is not valid Python",
    "FC031": "importing the file failed",
    "FC100": "why one task needs another (said by --explain only)",
    "FC101": "an input reads a task or an output that is not there",
    "FC102": "tasks wait for each other in a circle",
    "FC103": "an input has no value",
    "FC104": "two things have the same name",
    "FC105": "a call gives a component an input that it does not have",
    "FC106": "an input reads a parameter that is not there",
    "FC107": "a task is ordered after something that is not a task",
    "FC108": "a task's component is not there",
    "FC109": "a parameter has no value",
    "FC110": "a future is used as a value",
    "FC111": "a function can't be found by name",
    "FC112": "a pipeline returns something that no component made",
    "FC301": "a value or an output is not of the type that an input takes",
    "FC302": "a parameter's default is not of its type",
    "FC303": "a signature can't be a component's",
    "FC401": "a task asks for more than the runner has",
}
