"""Where the conversations are that come with the package. Knows neither their number nor their content."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from attunebench.errors import DataError


def demo_folder() -> Path:
    """The folder of the demonstration conversations: written examples, no human data.

    Raises DataError where the installation lacks them.
    """
    packaged = resources.files("attunebench") / "_data" / "Demo12"
    if isinstance(packaged, Path) and packaged.is_dir():
        return packaged
    # An editable install does not see files that the wheel takes from outside the package: look in the checkout.
    checkout = Path(__file__).resolve().parents[2] / "Test Samples" / "Demo12"
    if checkout.is_dir():
        return checkout
    raise DataError("The demonstration conversations are missing from this installation; install attunebench again.")
