"""Forms of dates and clocks as people write them, in tables: what is rewritten, what is then tried."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = r"[A-Za-z]{3,9}\.?"
DATES: tuple[tuple[str, tuple[str, ...]], ...] = (
    *((rf"\d{{4}}{re.escape(c)}\d{{1,2}}{re.escape(c)}\d{{1,2}}", (f"%Y{c}%m{c}%d",)) for c in "-/."),
    *((rf"\d{{1,2}}{re.escape(c)}\d{{1,2}}{re.escape(c)}\d{{4}}", (f"%m{c}%d{c}%Y", f"%d{c}%m{c}%Y")) for c in "/-."),
    *(
        (rf"\d{{1,2}}{re.escape(c)}\d{{1,2}}{re.escape(c)}\d{{2}}", (f"%m{c}%d{c}%y", f"%d{c}%m{c}%y", f"%y{c}%m{c}%d"))
        for c in "/-."
    ),
    (r"\d{8}", ("%Y%m%d",)),
    (rf"{_MONTH} \d{{1,2}} \d{{4}}", ("%B %d %Y",)),
    (rf"\d{{1,2}} {_MONTH} \d{{4}}", ("%d %B %Y",)),
    (rf"\d{{1,2}} {_MONTH} \d{{2}}", ("%d %B %y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{4}}", ("%d-%B-%Y",)),
    (rf"\d{{4}}-{_MONTH}-\d{{1,2}}", ("%Y-%B-%d",)),
    (rf"\d{{1,2}}{_MONTH}\d{{4}}", ("%d%B%Y",)),
    (rf"\d{{1,2}}-{_MONTH}-\d{{2}}", ("%d-%B-%y",)),
    (r"\d{4}-\d{1,2}", ("%Y-%m",)),
    (r"\d{4}/\d{1,2}", ("%Y/%m",)),
    (r"\d{1,2}/\d{4}", ("%m/%Y",)),
    (rf"{_MONTH} \d{{4}}", ("%B %Y",)),
    (rf"\d{{4}} {_MONTH}", ("%Y %B",)),
    (rf"\d{{4}}-{_MONTH}", ("%Y-%B",)),
    (rf"{_MONTH}-\d{{4}}", ("%B-%Y",)),
    (rf"{_MONTH}-\d{{2}}", ("%B-%y",)),
    (r"\d{4}-W\d{2}", ("%G-W%V",)),
    (r"\d{4}-W\d{2}-\d", ("%G-W%V-%u",)),
)
"""A pattern of a whole date, and the formats that it may be; several where year, month and day can be taken for each other."""
REWRITTEN = (
    (r"(:\d{2}),(\d{1,9})$", "${1}.${2}"),
    (r"[,\s]+", " "),
    (r"^(\d{4}-\d{2}-\d{2})(?:/| - | to | – )\d{4}-\d{2}-\d{2}$", "${1}"),
    (r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.? ", ""),
    (r"\bsept\b", "Sep"),
    (r"^([a-z]{3} \d{1,2}) ([\d:]+) (\d{4})$", "${1} ${3} ${2}"),
    (r"^(\d{2}[a-z]{3}\d{4}):", "${1} "),
    (r"^(\d{4}-?\d{2}-?\d{2}[ T]\d{2})$", "${1}:00"),
    (r"^([a-z]{3,9}\.?) ?['’](\d{2})$", "${1}-${2}"),
    (r"^(\d{4})M(\d{2})$", "${1}-${2}"),
    (r"^(\d{4}) ?[年년] ?(\d{1,2}) ?[月월] ?(\d{1,2}) ?[日일]", "${1}-${2}-${3}"),
    (r"^(\d{4}) ?[年년] ?(\d{1,2}) ?[月월]$", "${1}-${2}"),
    (r"^FQ([1-4])", "Q${1}"),
    (r"^(\d{4})/(?:\d{2}|\d{4})[- ]*Q([1-4])$", "${1}-Q${2}"),
    (r"^Q([1-4])[- ]*(\d{4})/(?:\d{2}|\d{4})$", "${2}-Q${1}"),
    (r"^FY ?['’]?(\d{2,4})[-/ ]*Q([1-4])$", "Q${2} ${1}"),
    (r"^([1-4])Q[- ]*FY ?['’]?(\d{2,4})$", "Q${1} ${2}"),
    (r"^Q([1-4])[-/ ]*FY ?['’]?(\d{2,4})$", "Q${1} ${2}"),
    (r"^[HS]([12])[-/ ](\d{4})$", "${2}-H${1}"),
    (r"^(\d{4})[-/ ]?[HS]([12])$", "${1}-H${2}"),
    (r"^([1-4])Q[-/ '’]?(\d+)$", "Q${1} ${2}"),
    (r"^Q([1-4])[-/ '’]+(\d{4})$", "${2}-Q${1}"),
    (r"^Q([1-4])[-/ '’]+([0-6]\d)$", "20${2}-Q${1}"),
    (r"^Q([1-4])[-/ '’]+([7-9]\d)$", "19${2}-Q${1}"),
    (r"^(\d{4})[-/ ]?Q([1-4])$", "${1}-Q${2}"),
    (r"^(?:W|KW|CW|week) ?(\d{1,2})[-/ ]+(\d{4})$", "${2}-W${1}"),
    (r"^(\d{4})[-/ ]*(?:W|KW|CW)(\d)$", "${1}-W0${2}"),
    (r"^(\d{4})[-/ ]*(?:W|KW|CW)(\d{2})$", "${1}-W${2}"),
    (r" ?([ap])\.?m\.?$", "${1}m"),
)
"""Forms that are rewritten as others, whatever the case of their letters."""
OF_MONTHS = "~"  # between a first day and the months of formats without days
STARTS = (("Q1", "01"), ("Q2", "04"), ("Q3", "07"), ("Q4", "10"), ("H1", "01"), ("H2", "07"))
"""The first months of quarters and half years."""
CLOCKS = (
    (r"", ""),
    (r"\d{1,2}:\d{2}", "%H:%M"),
    (r"\d{1,2}:\d{2}:\d{2}", "%H:%M:%S"),
    (r"\d{1,2}:\d{2}:\d{2}\.\d{1,9}", "%H:%M:%S%.f"),
    (r"\d{1,2}:\d{2}[AP]M", "%I:%M%p"),
    (r"\d{1,2}:\d{2}:\d{2}[AP]M", "%I:%M:%S%p"),
)
_OTHER_MONTHS = (
    "jan(?:uari?|vier|v|eiro)|jänner|ene(?:ro)?|gen(?:naio)?",
    "f[ée]v(?:r|rier|ereiro)?|febr?(?:uari?|uar|ero|braio)",
    "mars|m(?:ä|ae)rz|mrz|mar(?:zo|ço|co)|maart|mrt",
    "avr(?:il)?|abr(?:il)?|aprile",
    "mai|ma[yi]o|mag(?:gio)?|mei",
    "jui?n(?:i|io|ho)?|giu(?:gno)?",
    "juil(?:let)?|jul(?:i|io|ho)|lug(?:lio)?",
    "ao[ûu]t|ago(?:sto)?|august(?:us|i)",
    "sept(?:embre|iembre)?|set(?:tembre|embro|iembre)?",
    "okt(?:ober)?|oct(?:obre|ubre)|ott(?:obre)?|out(?:ubro)?",
    "nov(?:embre|iembre|embro)",
    "d[ée]c(?:embre)?|dez(?:ember|embro)?|dic(?:embre|iembre)?",
)
"""Months in German, French, Spanish, Italian, Portuguese and Dutch, where they are not as in English."""


def in_english(text: "polars.Series") -> "polars.Series":
    """Return texts with the months of other languages in English, without the words and points between day, month and year."""
    text = text.str.replace(r"^(\d{1,2})\. ?(\pL)", "${1} ${2}").str.replace_all(r"(?i) de ", " ")
    text = text.str.replace_all(r"(\pL{3})\.", "${1}").str.replace(r"(\pL)/(\d)", "${1}-${2}")
    for name, others in zip(MONTHS, _OTHER_MONTHS, strict=True):
        text = text.str.replace(rf"(?i)(^|[\d .-])(?:{others})([\d .-]|$)", f"${{1}}{name}${{2}}")
    return text
