"""Numbers as people write them: with currencies, thousands, decimal commas, and words for missing values."""

from typing import TYPE_CHECKING, NamedTuple

from anygru.extend import UsageError

if TYPE_CHECKING:
    import polars

MISSING = ("", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", ".", "..", "...", ":", "*", "**", "***", "?",
           "missing", "inf", "-inf")  # fmt: skip
_FLAG = r"^([-+]?\d[\d.,]*|:) [bcdefnprsuz]{1,3}$"  # as Eurostat writes beside values: provisional, estimated, ...
_POINTS = r"^[-+]?[1-9]\d{0,2}\.\d{3}$"
_INDIAN = r"\d{1,2}(,\d{2})+,\d{3}"  # as 1,23,45,678: lakhs and crores
_SHORT = r"(\d)([kKMB])$"
_SIZES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9}
_SIGNS = r"[$€£¥₹%\s\u00a0\u202f']|USD|INR|Rs\.?|EUR|GBP|CHF|JPY"


class Numbers(NamedTuple):
    """A column as float64 with nulls, or None and the first text that is no number."""

    values: "polars.Series | None"
    wrong: str = ""
    remark: str = ""


class Marks(NamedTuple):
    """What the texts of a column show: a decimal comma, a decimal point, or only points that may part thousands."""

    comma: bool
    point: bool
    points: bool


def marks(column: "polars.Series") -> Marks:
    """Find the marks of numbers in texts. Three digits after a mark may be thousands or decimals."""
    text = _plain(column)

    def any_is(pattern: str) -> bool:
        return bool(text.str.contains(pattern).any())

    comma = any_is(r"^[-+]?(\d+,(\d{1,2}|\d{4,})|(0|\d{4,}),\d+|\d{1,3}((\.\d{3})+,\d+|(\.\d{3}){2,}))$")
    point = any_is(
        r"^[-+]?(\d*\.(\d{1,2}|\d{4,})|(0|\d{4,})?\.\d+|\d{1,3}((,\d{3})+\.\d+|(,\d{3}){2,})|" + _INDIAN + r"(\.\d+)?)$"
    )
    return Marks(comma, point, not point and any_is(_POINTS))


def read(column: "polars.Series", decimal_comma: bool | None = False) -> Numbers:
    """Read a column as numbers; those that are not finite become missing.

    Args:
        column: numbers, booleans or texts.
        decimal_comma: how to read "1,110" and "1.110" where no other text of the column shows its decimal mark; None: the
            comma is the decimal mark, and the point is in doubt.

    Raises:
        UsageError: "1.110" is in doubt.
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
    raw = raw.str.strip_chars().str.replace(_FLAG, "${1}")
    missing = raw.str.to_lowercase().is_in(MISSING) | raw.is_null()
    found = marks(raw)
    if decimal_comma is None and found.points and not found.comma:
        doubt = str(raw.filter(_plain(raw).str.contains(_POINTS))[0])
        raise UsageError(f"{doubt!r} in column {name!r} can be read in two ways: with thousands, or with decimals after the "
                         "point; say which with --decimal-comma or --no-decimal-comma")  # fmt: skip
    comma = decimal_comma is not False if found.comma == found.point else found.comma
    group, decimal = (r"\.", ",") if comma else (",", r"\.")
    text = _plain(raw)
    grouped = text.str.contains(rf"^[-+]?(\d{{1,3}}({group}\d{{3}})+|{_INDIAN})({decimal}\d+)?$")
    text = polars.select(polars.when(grouped).then(text.str.replace_all(group, "")).otherwise(text)).to_series()
    if comma:
        text = polars.select(
            polars.when(text.str.contains(r"^[^.]*$")).then(text.str.replace(",", ".", literal=True))
        ).to_series()
    short = _signless(raw).str.extract(_SHORT, 2)
    values = text.cast(polars.Float64, strict=False) * short.replace_strict(_SIZES, default=1.0)
    wrong = raw.filter(values.is_null() & ~missing)
    if len(wrong):
        return Numbers(None, str(wrong[0]))
    told = grouped | short.is_not_null()
    row = int(told.arg_max() or 0)
    remark = f"{name!r} read as {raw[row]!r} = {values[row]:g}" if told.any() else ""
    return Numbers(_finite(values).alias(name), remark=remark)


def _plain(column: "polars.Series") -> "polars.Series":
    """The texts without spaces, currencies, signs of percent and sizes; numbers in parentheses are negative."""
    return _signless(column).str.replace(_SHORT, "${1}")


def _signless(column: "polars.Series") -> "polars.Series":
    import polars

    text = column.cast(polars.String).str.strip_chars().str.replace(r"^\((.*)\)$|^([^-]*\d)-$", "-${1}${2}")
    return text.str.replace_all(_SIGNS, "").str.replace("−", "-")


def _finite(values: "polars.Series") -> "polars.Series":
    import polars

    return polars.select(polars.when(values.is_finite()).then(values)).to_series()
