"""The rows of a dataset as TRL reads them, its columns and the names of its classes."""

import contextlib
from collections.abc import Iterator
from typing import Any


FOREIGN_FORMATS = ("numpy", "pandas", "polars", "arrow")  # formats of a dataset whose rows TRL cannot read

CONVERSIONS = {  # what to do with a value of this type in place of a dataset
    "DataFrame": "Convert it: Dataset.from_pandas(frame).",
    "list": "Convert it: Dataset.from_list(rows).",
    "dict": "Convert its columns: Dataset.from_dict(columns).",
    "DatasetDict": "Choose a split, such as dataset['train'].",
    "IterableDatasetDict": "Choose a split, such as dataset['train'].",
    "IterableDataset": "Load it without streaming, or convert some rows: Dataset.from_list([*dataset.take(500)]).",
}


class TransformedRows:
    """A dataset with a transform as its rows are. It may have other columns than are stored, and is read row by row."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.features: dict[str, Any] = dict(dataset[0])
        self.column_names = [*self.features]

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, str):
            return [row[place] for row in self.dataset]
        return self.dataset[place]

    def select(self, places: Any) -> "TransformedRows":
        return TransformedRows(self.dataset.select(places))

    def select_columns(self, names: Any) -> "TransformedRows":
        return self


def describe_no_dataset(value: Any) -> str:
    kind = type(value).__name__
    load = "Load the file: load_dataset('json', data_files=..., split='train')."
    return f"The dataset must be a datasets.Dataset, but is a {kind}. {CONVERSIONS.get(kind, load)}"


def show_rows(dataset: Any) -> Any:
    """Return a dataset whose columns are those of its rows, unless these have a format that TRL cannot read."""
    kind = (getattr(dataset, "format", None) or {}).get("type")
    if kind in FOREIGN_FORMATS:
        raise ValueError(
            f"TRL reads rows of Python values, but the dataset has the format {kind!r}. Remove it: "
            f"dataset.with_format(None)."
        )
    if kind == "custom" and len(dataset):
        return TransformedRows(dataset)
    return dataset


def iterate_column(dataset: Any, column: str) -> Iterator[Any]:
    """Yield the values of a column. They are read in batches, which is several times faster than one at a time."""
    part = dataset.select_columns(column)
    for start in range(0, len(part), 1000):
        yield from part[start : start + 1000][column]


def list_class_names(dataset: Any) -> list[dict[int, str]]:
    """Return the names of the classes in each column of the type `ClassLabel`."""
    labels = [feature for feature in dataset.features.values() if type(feature).__name__ == "ClassLabel"]
    return [dict(enumerate(feature.names)) for feature in labels]


def get_column_type(dataset: Any, column: str) -> str:
    feature = dataset.features[column]
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()


@contextlib.contextmanager
def quiet_datasets() -> Iterator[None]:
    """Keep datasets from logging an error that is raised too, and from showing bars that are over at once."""
    from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars, logging

    level = logging.get_verbosity()
    has_bars = not are_progress_bars_disabled()
    logging.set_verbosity(logging.CRITICAL)
    disable_progress_bars()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if has_bars:
            enable_progress_bars()
