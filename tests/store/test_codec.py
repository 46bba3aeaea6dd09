"""Arrays and a header as bytes, and back."""

import numpy as np
import pytest

from weft.store.codec import FileError, decode, encode

ARRAYS = {
    "empty": np.zeros(0),
    "flat": np.arange(5),
    "table": np.arange(6.0).reshape(2, 3),
    "no rows": np.zeros((0, 3), np.int64),
    "cube": np.arange(24.0).reshape(2, 3, 4),
    "number": np.array(3.5),
    "extremes": np.array([np.inf, -np.inf, 5e-324, -0.0, 1.7976931348623157e308]),
    "whole": np.array([2**63 - 1, -(2**63)]),
    "strange: ü\n": np.ones(1),
}


def test_there_and_back():
    header = {
        "format": 1,
        "names": ["ü", "日本", "\ud800", [1, ["x"]]],
        "nested": {"a": [1.5, None, True, 2**70]},
    }
    data = encode(header, ARRAYS)
    again, arrays = decode(data)
    assert again == header
    assert list(arrays) == list(ARRAYS)
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
    assert encode(again, arrays) == data


def test_not_a_number_keeps_its_bits():
    array = np.array([np.nan, -np.nan])
    assert decode(encode({}, {"x": array}))[1]["x"].tobytes() == array.tobytes()


def test_any_order_in_memory():
    table = np.arange(12.0).reshape(3, 4)
    for array in (
        np.asfortranarray(table),
        table.T.copy().T,
        np.repeat(table, 2, 1)[:, ::2],
        table.astype(">f8"),
    ):
        assert encode({}, {"x": array}) == encode({}, {"x": table})


def test_what_comes_back_is_read_only_and_aligned():
    """Views of a file where they can be: whoever wants to change them copies them."""
    for name in ("x", "xy", "xyz", "longer"):  # headers of several lengths
        found = decode(encode({}, {name: np.arange(3)}))[1][name]
        assert found.flags.aligned
        assert not found.flags.writeable


@pytest.mark.parametrize("kind", [np.float16, np.int32, bool, object, "U3", np.complex128, np.uint64])
def test_other_types_are_not_stored(kind):
    with pytest.raises(TypeError, match="only int64, float64 and float32"):
        encode({}, {"x": np.zeros(2, kind)})


@pytest.mark.parametrize("data", [b"", b"weft-mode", b"weft-model", b"x" * 100, b"weft-model" + bytes(50)])
def test_no_block(data):
    with pytest.raises(FileError):
        decode(data)


def test_the_same_model_is_the_same_bytes():
    assert encode({"a": 1}, ARRAYS) == encode({"a": 1}, dict(ARRAYS))
    assert encode({"a": 1}, ARRAYS) != encode({"a": 2}, ARRAYS)
