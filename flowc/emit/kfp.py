"""A pipeline as Kubeflow Pipelines' own intermediate form: `PipelineSpec`, schema 2.1.0, as YAML.

Each task becomes a container that runs `python -m flowc.engine.task` with the task's IR as an argument: that loads
its inputs from the paths that Kubeflow gives, runs the code as every runner does, and writes its outputs to paths.

The image must have what the task needs, and the YAML can't bring it: flowc itself (the same version), the packages
that the code imports, and the project's files (modules, or the notebook's folder with what it reads) in the image's
working directory, laid out as in the project's root:

    FROM python:3.11
    RUN pip install flowc[notebook] scikit-learn
    WORKDIR /project
    COPY . .

Artifacts travel between containers as one file each (`flowc.engine.parcel`), typed by Kubeflow's schema titles.
The format: https://github.com/kubeflow/pipelines/blob/master/api/v2alpha1/pipeline_spec.proto
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from flowc.diagnostics import Diagnostic, Source
from flowc.emit.codes import KUBEFLOW
from flowc.emit.yaml import to_yaml
from flowc.errors import CompileError
from flowc.ir import (
    Component,
    FromParameter,
    FromTask,
    NotebookCode,
    Parameter,
    Pipeline,
    Policy,
    Port,
    Resources,
    Task,
)
from flowc.ir.json import dump_pipeline
from flowc.types.model import ArtifactType, DictType, ListType, ObjectType, ScalarType, TupleType, Type
from flowc.types.secret import holds_secret

DEFAULT_IMAGE: Final = "python:3.11"
_COMMAND = ("python", "-m", "flowc.engine.task")
# Linux takes no longer argument (MAX_ARG_STRLEN).
_LONGEST = 128 * 1024 - 1
_GB = 10**9

_PARAMETERS = {"bool": "BOOLEAN", "int": "NUMBER_INTEGER", "float": "NUMBER_DOUBLE"}
_ARTIFACTS = {
    "flowc.types.artifacts:Dataset": "system.Dataset",
    "flowc.types.artifacts:Model": "system.Model",
    "flowc.types.artifacts:ServedModel": "system.Model",
    "flowc.types.artifacts:Metrics": "system.Metrics",
    "flowc.types.artifacts:Evaluation": "system.Metrics",
    "flowc.types.artifacts:Html": "system.HTML",
    "pandas.core.frame:DataFrame": "system.Dataset",
    "pyarrow.lib:Table": "system.Dataset",
    "keras.src.models.model:Model": "system.Model",
    "sklearn.base:BaseEstimator": "system.Model",
    "torch.nn.modules.module:Module": "system.Model",
}


def to_kfp(pipeline: Pipeline, image: str = DEFAULT_IMAGE, version: str = "") -> str:
    """Return a checked pipeline as Kubeflow's YAML; `image` runs every task, `version` is flowc's.

    Raises CompileError (FC602) with all that Kubeflow has no form for: gangs, secret parameters, tasks whose code is
    too long for a command line.
    """
    problems = list(_problems(pipeline))
    if problems:
        raise CompileError(problems)
    return to_yaml(_Spec(pipeline, image, version).data())


def _problems(pipeline: Pipeline) -> Iterator[Diagnostic]:
    for parameter in pipeline.parameters:
        if holds_secret(parameter.type):
            message = f"parameter '{parameter.name}' is secret, and Kubeflow shows parameters to everybody"
            yield _problem(
                message, parameter.source, "read it from a mounted secret in the component that needs it"
            )
    for task in pipeline.tasks:
        if task.resources.processes > 1:
            message = f"task '{task.name}' asks for {task.resources.processes} processes: Kubeflow starts one a task"
            yield _problem(message, task.source, "run it with flowc, or with processes=1")
        if len(_ir(pipeline, task).encode()) > _LONGEST:
            message = f"the code of task '{task.name}' is too long for a container's command line"
            yield _problem(message, task.source, "move code of the notebook into a module beside it")


def _problem(message: str, source: Source | None, hint: str) -> Diagnostic:
    return Diagnostic(code=KUBEFLOW, message=message, source=source, hint=hint)


def _ir(pipeline: Pipeline, task: Task) -> str:
    """Return the IR of one task alone, with no braces in a row: they would mean something to Kubeflow and Argo."""
    code = pipeline.component_of(task).code
    cells = {*code.cells, *code.shared} if isinstance(code, NotebookCode) else set()
    bound = {binding.parameter for binding in task.inputs.values() if isinstance(binding, FromParameter)}
    parameters = tuple(each for each in pipeline.parameters if each.name in bound)
    # An enum among a notebook's parameters is known by the cell that assigns it.
    cells |= {each.source.cell for each in parameters if each.source and each.source.cell is not None}
    alone = pipeline.model_copy(
        update={
            "description": "",
            "parameters": parameters,
            "components": {task.component: pipeline.component_of(task)},
            "tasks": (task,),
            "outputs": (),
            "cells": tuple(cell for cell in pipeline.cells if cell.index in cells),
        }
    )
    text = json.dumps(json.loads(dump_pipeline(alone)), ensure_ascii=False, separators=(",", ":"))
    # Two braces in a row stand in texts only, or close objects: `}}` by itself means nothing.
    return text.replace("{{", "{\\u007b")


class _Spec:
    def __init__(self, pipeline: Pipeline, image: str, version: str) -> None:
        self._pipeline = pipeline
        self._image = image
        self._version = version
        self._tasks = _unique((task.name for task in pipeline.tasks), _resource_name)
        self._ports = {
            name: _unique((port.name for port in (*component.inputs, *component.outputs)), _port_name)
            for name, component in pipeline.components.items()
        }
        self._outputs = _unique((output.name for output in pipeline.outputs), _port_name)

    def data(self) -> dict[str, Any]:
        """Return the whole document."""
        tasks = {self._tasks[task.name]: task for task in self._pipeline.tasks}
        info = {"name": _resource_name(self._pipeline.name)}
        if self._pipeline.description:
            info["description"] = self._pipeline.description
        return {
            "pipelineInfo": info,
            "schemaVersion": "2.1.0",
            "sdkVersion": f"flowc-{self._version}".rstrip("-"),
            "components": {f"comp-{name}": self._component(name, task) for name, task in tasks.items()},
            "deploymentSpec": {
                "executors": {
                    f"exec-{name}": {"container": self._container(task)} for name, task in tasks.items()
                }
            },
            "root": self._root(tasks),
        }

    def _root(self, tasks: dict[str, Task]) -> dict[str, Any]:
        dag: dict[str, Any] = {"tasks": {name: self._task(name, task) for name, task in tasks.items()}}
        root: dict[str, Any] = {"dag": dag}
        if self._pipeline.parameters:
            parameters = {each.name: _parameter(each) for each in self._pipeline.parameters}
            root["inputDefinitions"] = {"parameters": parameters}
        if self._pipeline.outputs:
            selected, defined = {}, {}
            for output in self._pipeline.outputs:
                task, port = self._produced(output.value)
                name = self._outputs[output.name]
                selector = {
                    "outputArtifactKey": self._port(task, port),
                    "producerSubtask": self._tasks[task.name],
                }
                selected[name] = {"artifactSelectors": [selector]}
                defined[name] = _artifact(port.type)
            dag["outputs"] = {"artifacts": selected}
            root["outputDefinitions"] = {"artifacts": defined}
        return root

    # -- one task

    def _component(self, name: str, task: Task) -> dict[str, Any]:
        component = self._pipeline.component_of(task)
        spec: dict[str, Any] = {"executorLabel": f"exec-{name}"}
        parameters, artifacts = {}, {}
        for port in component.inputs:
            binding = task.inputs.get(port.name)
            if isinstance(binding, FromParameter):
                parameters[self._port(task, port)] = {
                    "parameterType": _parameter_type(self._declared(binding).type)
                }
            elif isinstance(binding, FromTask):
                artifacts[self._port(task, port)] = _artifact(self._produced(binding)[1].type)
        inputs = {"parameters": parameters, "artifacts": artifacts}
        inputs = {key: value for key, value in inputs.items() if value}
        spec.update({"inputDefinitions": inputs} if inputs else {})
        outputs = {self._port(task, port): _artifact(port.type) for port in component.outputs}
        spec.update({"outputDefinitions": {"artifacts": outputs}} if outputs else {})
        return spec

    def _container(self, task: Task) -> dict[str, Any]:
        component = self._pipeline.component_of(task)
        arguments = ["--ir", _ir(self._pipeline, task)]
        for port in component.inputs:
            binding, name = task.inputs.get(port.name), self._port(task, port)
            if isinstance(binding, FromParameter):
                arguments += ["--parameter", f"{binding.parameter}={{{{$.inputs.parameters['{name}']}}}}"]
            elif isinstance(binding, FromTask):
                arguments += ["--input", f"{port.name}={{{{$.inputs.artifacts['{name}'].path}}}}"]
        for port in component.outputs:
            name = self._port(task, port)
            arguments += ["--output", f"{port.name}={{{{$.outputs.artifacts['{name}'].path}}}}"]
        container = {"image": self._image, "command": list(_COMMAND), "args": arguments}
        resources = _resources(task.resources)
        return {**container, "resources": resources} if resources else container

    def _task(self, name: str, task: Task) -> dict[str, Any]:
        parameters, artifacts = {}, {}
        for port in self._pipeline.component_of(task).inputs:
            binding = task.inputs.get(port.name)
            if isinstance(binding, FromParameter):
                parameters[self._port(task, port)] = {"componentInputParameter": binding.parameter}
            elif isinstance(binding, FromTask):
                producer, output = self._produced(binding)
                artifacts[self._port(task, port)] = {
                    "taskOutputArtifact": {
                        "outputArtifactKey": self._port(producer, output),
                        "producerTask": self._tasks[producer.name],
                    }
                }
        inputs = {"parameters": parameters, "artifacts": artifacts}
        data: dict[str, Any] = {
            "cachingOptions": {"enableCache": True} if task.policy.cache else {},
            "componentRef": {"name": f"comp-{name}"},
            "taskInfo": {"name": task.name},
        }
        if upstream := [self._tasks[each] for each in task.upstream()]:
            data["dependentTasks"] = upstream
        if inputs := {key: value for key, value in inputs.items() if value}:
            data["inputs"] = inputs
        return {**data, **_retries(task.policy)}

    def _port(self, task: Task, port: Port) -> str:
        return self._ports[task.component][port.name]

    def _declared(self, binding: FromParameter) -> Parameter:
        return next(each for each in self._pipeline.parameters if each.name == binding.parameter)

    def _produced(self, origin: FromTask) -> tuple[Task, Port]:
        task = self._pipeline.task(origin.task)
        component: Component = self._pipeline.component_of(task)
        return task, next(port for port in component.outputs if port.name == origin.output)


def _retries(policy: Policy) -> dict[str, Any]:
    if not policy.retries:
        return {}
    return {"retryPolicy": {"maxRetryCount": policy.retries, "backoffDuration": "0s", "backoffFactor": 2.0}}


def _resources(resources: Resources) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if resources.cpus != 1:
        data["cpuLimit"] = float(resources.cpus)
    if resources.memory is not None:
        data["memoryLimit"] = resources.memory / _GB
    if resources.gpus:
        data["accelerator"] = {"count": str(resources.gpus), "type": "nvidia.com/gpu"}
    return data


def _parameter(parameter: Parameter) -> dict[str, Any]:
    data: dict[str, Any] = {"parameterType": _parameter_type(parameter.type)}
    if parameter.description:
        data["description"] = parameter.description
    if not parameter.required:
        # A text in quotes of its own is one to `flowc.engine.task`, too; but a scalar is read as it stands.
        text = data["parameterType"] == "STRING" and not isinstance(parameter.default, str)
        data.update(
            defaultValue=json.dumps(parameter.default) if text else parameter.default, isOptional=True
        )
    return data


def _parameter_type(type_: Type) -> str:
    """Return Kubeflow's type; what it has none for is a text, as on flowc's command line."""
    match type_:
        case ScalarType(name=name):
            return _PARAMETERS.get(name, "STRING")
        case ListType() | TupleType():
            return "LIST"
        case DictType(key=ScalarType(name="str")):
            return "STRUCT"
    return "STRING"


def _artifact(type_: Type) -> dict[str, Any]:
    title = "system.Artifact"
    if isinstance(type_, ArtifactType | ObjectType):
        known = (_ARTIFACTS[ref] for ref in (type_.ref, *type_.bases) if ref in _ARTIFACTS)
        title = next(known, title)
    return {"artifactType": {"schemaTitle": title, "schemaVersion": "0.0.1"}}


def _unique(names: Iterable[str], spelled: Callable[[str], str]) -> dict[str, str]:
    """Return for each name the one that Kubeflow knows it by, with a number behind it where two would be one."""
    found: dict[str, str] = {}
    for name in dict.fromkeys(names):
        wanted = candidate = spelled(name)
        count = 2
        while candidate in found.values():
            candidate, count = f"{wanted}{count}", count + 1
        found[name] = candidate
    return found


def _resource_name(name: str) -> str:
    """Return a name of Kubernetes's kind: lower case letters, digits, hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"


def _port_name(name: str) -> str:
    return re.sub(r"\W", "_", name.replace("+", "_and_"), flags=re.ASCII)
