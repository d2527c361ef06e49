"""The artifact classes that pipelines hand from task to task. All are open to subclasses of the user's own.

Four ways of holding content stand behind them, and decide how they are stored: a table (`Dataset`), files
(`FileArtifact`), bytes (`BytesArtifact`) and a record of plain values (`RecordArtifact`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self

from pydantic import BaseModel, ConfigDict
from typing_extensions import TypeVar

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

# By default Any, so that a bare `Dataset` is Dataset[Any] to a strict type checker; covariant, so that to it, too, a
# table of a subclass's rows goes where one of the class's is wanted.
Row = TypeVar("Row", covariant=True, default=Any)  # noqa: PLC0105


class Artifact:
    """The root of the nominal artifact types."""


class Dataset(Artifact, Generic[Row]):
    """A table, held as Arrow. `Dataset[Trip]` says its columns by a pydantic model, TypedDict, dataclass or
    NamedTuple, `Annotated[Dataset, SCHEMA]` by an Arrow schema."""

    def __init__(self, table: pa.Table) -> None:
        import pyarrow as pa  # here, so that naming Dataset in an annotation costs nothing

        if not isinstance(table, pa.Table):
            raise TypeError(
                f"Dataset takes a pyarrow.Table, not {type(table).__name__}; see Dataset.from_pandas"
            )
        self.table = table

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame) -> Self:
        """Make a dataset of a DataFrame's columns; its index is left out."""
        import pyarrow as pa

        return cls(pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata())

    def to_pandas(self) -> pd.DataFrame:
        """Return the table as a DataFrame."""
        return self.table.to_pandas()

    @property
    def num_rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def column_names(self) -> list[str]:
        return list(self.table.column_names)

    def __len__(self) -> int:
        return self.num_rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Dataset) and bool(self.table.equals(other.table))

    __hash__ = None  # type: ignore[assignment]  # equal by content, so not hashable

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.num_rows} rows, {len(self.column_names)} columns)"


class FileArtifact(Artifact):
    """A file or a folder. Once stored, `path` points into the artifact store and is not to be written to."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.path)!r})"


class TransformGraph(FileArtifact):
    """A fitted preprocessing, applied alike in training and in serving."""


class Model(FileArtifact):
    """A trained model, in its framework's own format."""


class ServedModel(FileArtifact):
    """An exported model in TensorFlow Serving's layout: `NAME/VERSION/saved_model.pb`.

    `published` is the folder of the version that was pushed, for those that serve it.
    """

    def __init__(self, path: str | Path, published: str | None = None) -> None:
        super().__init__(path)
        self.published = published


class BytesArtifact(Artifact):
    """A single document. `suffix` names its format in the store."""

    suffix: ClassVar[str] = ".bin"

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.content == other.content

    def __hash__(self) -> int:
        return hash((type(self), self.content))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.content)} bytes)"


class Statistics(BytesArtifact):
    """A serialized `tensorflow_metadata.proto.v0.DatasetFeatureStatisticsList`."""

    suffix = ".pb"


class Schema(BytesArtifact):
    """A serialized `tensorflow_metadata.proto.v0.Schema`."""

    suffix = ".pb"


class Anomalies(BytesArtifact):
    """A serialized `tensorflow_metadata.proto.v0.Anomalies`."""

    suffix = ".pb"


class Html(BytesArtifact):
    """An HTML page, UTF-8."""

    suffix = ".html"


class Image(BytesArtifact):
    """A PNG picture."""

    suffix = ".png"


class RecordArtifact(BaseModel, Artifact):
    """Plain values in named fields, stored as JSON. Subclass it as you would a pydantic model."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")


class Metrics(RecordArtifact):
    """Numbers that measure something, by name."""

    values: dict[str, float]

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.values)

    def names(self) -> Iterator[str]:
        """Return the metrics' names, in the order they were given."""
        return iter(self.values)


class ThresholdResult(BaseModel):
    """One threshold and what came of it."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    metric: str
    value: float
    at_least: float | None = None
    at_most: float | None = None
    passed: bool


class Evaluation(RecordArtifact):
    """A model's metrics on a dataset, and how they stand against the thresholds."""

    metrics: dict[str, float]
    thresholds: tuple[ThresholdResult, ...] = ()
    rows: int
    details: dict[str, Any] = {}


class Blessing(RecordArtifact):
    """Whether a model may be served, and why."""

    blessed: bool
    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.blessed
