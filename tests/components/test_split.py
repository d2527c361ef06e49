"""A row's side depends on the row alone: the same everywhere, and when rows are added."""

import hashlib
import struct

import pyarrow as pa
import pytest

from flowc import ComponentError, Dataset
from flowc_components import split
from flowc_components.split import row_hashes

MASK = 2**64 - 1


def mixed(bits: int) -> int:
    """SplitMix64's finaliser as in its paper, in Python's own integers."""
    bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
    return bits ^ (bits >> 31)


def digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def double_bits(number: float) -> int:
    return int(struct.unpack("<Q", struct.pack("<d", number))[0])


def test_hashes_are_those_of_the_definition() -> None:
    table = pa.table({"fare": [2.5], "place": ["Loop"]})
    after_fare = mixed(mixed((mixed(double_bits(2.5)) + digest("fare")) & MASK))
    after_place = mixed(after_fare ^ mixed((digest("Loop") + digest("place")) & MASK))
    assert row_hashes(table).tolist() == [after_place]


def test_equal_values_hash_alike_whatever_their_type() -> None:
    whole = row_hashes(pa.table({"x": pa.array([1, None, 0], pa.int32())}))
    real = row_hashes(pa.table({"x": pa.array([1.0, None, -0.0], pa.float64())}))
    assert whole.tolist() == real.tolist()
    plain = pa.array(["a", "b", "a"])
    assert (
        row_hashes(pa.table({"s": plain})).tolist()
        == row_hashes(pa.table({"s": plain.dictionary_encode()})).tolist()
    )


def test_columns_do_not_change_places() -> None:
    one, other = pa.table({"a": [1], "b": [2]}), pa.table({"a": [2], "b": [1]})
    assert row_hashes(one).tolist() != row_hashes(other).tolist()


def test_the_split_is_stable_when_rows_are_added() -> None:
    rows = list(range(2000))
    before = split(Dataset(pa.table({"id": rows[:1000]})), eval_fraction=0.3)
    after = split(Dataset(pa.table({"id": rows[::-1]})), eval_fraction=0.3)
    assert set(before.eval.table["id"].to_pylist()) <= set(after.eval.table["id"].to_pylist())
    assert set(before.train.table["id"].to_pylist()) <= set(after.train.table["id"].to_pylist())
    assert len(after.train) + len(after.eval) == 2000
    # Binomial: 600 expected, standard deviation 20.5; five of them either way.
    assert 500 < len(after.eval) < 700


def test_rows_with_one_key_stay_together() -> None:
    table = pa.table({"taxi": [number % 50 for number in range(1000)], "trip": range(1000)})
    parts = split(Dataset(table), eval_fraction=0.4, key="taxi")
    assert not set(parts.train.table["taxi"].to_pylist()) & set(parts.eval.table["taxi"].to_pylist())


def test_another_seed_deals_otherwise() -> None:
    data = Dataset(pa.table({"id": list(range(100))}))
    assert split(data, seed=1).eval != split(data, seed=2).eval


def test_what_can_not_be_split_is_refused() -> None:
    data = Dataset(pa.table({"taxi": [1, 1, 1], "path": [[1], [2], [3]]}))
    with pytest.raises(ComponentError, match=r"split is empty: 3 rows, eval_fraction=0.5, key='taxi'"):
        split(data, eval_fraction=0.5, key="taxi")
    with pytest.raises(ComponentError, match="there is no column 'taxy'") as caught:
        split(data, key="taxy")
    assert caught.value.hint == "did you mean 'taxi'?"
    with pytest.raises(ComponentError, match="can't be told apart by column 'path'"):
        split(data)
    with pytest.raises(ComponentError, match="between 0 and 1, not 1"):
        split(data, eval_fraction=1)
