"""Check what is in wheels of the core: python3 .ci/wheel_contents.py wheelhouse/*.whl

A wheel has at most 3 MB, the native module and no C++, the licences of what is linked in, and a bill of materials (PEP 770).
"""

import json
import re
import sys
import zipfile
from pathlib import Path

LARGEST = 3_000_000
LICENCES = ("LICENSE", "nanobind.txt", "robin_map.txt")
LINKED_IN = {"nanobind", "robin_map"}


def faults(wheel: Path) -> list[str]:
    """What is wrong with a wheel, a line each; none if it may be published."""
    found = []
    if wheel.stat().st_size > LARGEST:
        found.append(f"it has {wheel.stat().st_size} bytes, more than {LARGEST}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        if not any(re.fullmatch(r"anygru/_native\S*\.(so|pyd)", name) for name in names):
            found.append("it has no native module")
        found += [f"it has {name}" for name in names if "csrc" in name or name.endswith((".cpp", ".hpp"))]
        for licence in LICENCES:
            if not any(".dist-info/licenses/" in name and name.endswith(f"/{licence}") for name in names):
                found.append(f"it lacks the licence {licence}")
        bills = [json.loads(archive.read(name)) for name in names if ".dist-info/sboms/" in name]
    named = {part["name"] for bill in bills if bill["bomFormat"] == "CycloneDX" for part in bill["components"]}
    if named != LINKED_IN:
        found.append(f"its bill of materials names {sorted(named)} instead of {sorted(LINKED_IN)}")
    return found


if __name__ == "__main__":
    lines = [f"{path}: {fault}" for path in sys.argv[1:] for fault in faults(Path(path))]
    sys.exit("\n".join(lines) or (None if sys.argv[1:] else "no wheel was given"))
