"""Numbers as people write them: with currencies, thousands, decimal commas, and words for missing values."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "?", "missing", "inf", "-inf")
_SIGNS = r"[$€£¥₹%\s\u00a0\u202f']|USD|EUR|GBP|CHF|JPY"


class Numbers(NamedTuple):
    """A column as float64 with nulls, or None and the first text that is no number."""

    values: "polars.Series | None"
    wrong: str = ""
    remark: str = ""


def read(column: "polars.Series", decimal_comma: bool = False) -> Numbers:
    """Read a column as numbers; those that are not finite become missing.

    Args:
        column: numbers, booleans or texts.
        decimal_comma: whether "1,110" is little more than one, as in files whose fields end with semicolons.
    """
    import polars

    name = column.name
    if column.dtype == polars.Boolean or column.dtype.is_numeric():
        return Numbers(_finite(column.cast(polars.Float64)).alias(name))
    if column.dtype == polars.Null:
        return Numbers(column.cast(polars.Float64))
    if column.dtype not in (polars.String, polars.Categorical, polars.Enum):
        return Numbers(None, str(column.dtype))
    raw = column.cast(polars.String)
    text = raw.str.strip_chars()
    missing = text.str.to_lowercase().is_in(MISSING) | text.is_null()
    text = text.str.replace(r"^\((.*)\)$", "-${1}").str.replace_all(_SIGNS, "").str.replace("−", "-")
    dots = text.str.contains(r"^[-+]?\d{1,3}(\.\d{3})+,\d+$").any()
    commas = text.str.contains(r"^[-+]?\d{1,3}(,\d{3})+(\.\d+)?$")
    grouped = bool(commas.any()) and not dots and not decimal_comma
    if dots or (decimal_comma and not text.str.contains(r"\.\d+$").any()):
        plain = text.str.replace_all(".", "", literal=True).str.replace(",", ".", literal=True)
    elif grouped:
        plain = polars.select(
            polars.when(commas).then(text.str.replace_all(",", "", literal=True)).otherwise(text)
        ).to_series()
    else:
        plain = text
    values = plain.cast(polars.Float64, strict=False)
    wrong = raw.filter(values.is_null() & ~missing)
    if len(wrong):
        return Numbers(None, str(wrong[0]))
    remark = ""
    if grouped or dots:
        row = int((commas if grouped else text.str.contains(",", literal=True)).arg_max() or 0)
        remark = f"{name!r} read as {raw[row]!r} = {values[row]:g}"
    return Numbers(_finite(values).alias(name), remark=remark)


def _finite(values: "polars.Series") -> "polars.Series":
    import polars

    return polars.select(polars.when(values.is_finite()).then(values)).to_series()
