"""Tests of chance: repeated until enough runs have passed."""

import functools
from collections.abc import Callable
from typing import Any

Test = Callable[..., None]


def repeat_with_success_at_least(times: int, min_success: int) -> Callable[[Test], Test]:
    """Run a test method up to `times` times; AssertionError unless `min_success` runs pass."""
    if times < min_success:
        raise AssertionError(f"times must be at least min_success, got {times} and {min_success}")

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            passed = 0
            errors: list[Exception] = []
            while passed < min_success and len(errors) <= times - min_success:
                if passed or errors:  # the runner has set up the first run
                    getattr(self, "tearDown", list)()
                    getattr(self, "setUp", list)()
                try:
                    test(self, *args, **kwargs)
                    passed += 1
                except Exception as error:
                    errors.append(error)
            if passed < min_success:
                raise AssertionError(f"Fail: {len(errors)}, Success: {passed}") from errors[0]

        return run

    return decorate


def repeat(times: int) -> Callable[[Test], Test]:
    """All of `times` runs have to pass."""
    return repeat_with_success_at_least(times, times)


def retry(times: int) -> Callable[[Test], Test]:
    """One of up to `times` runs has to pass."""
    return repeat_with_success_at_least(times, 1)
