"""The report as one HTML file that needs nothing else: scores, analyses, and the turns behind every number.

`render_html` is pure: scores and a source of texts in, the file's text out. It reads no file of a user's and asks no
network, and neither does the page.
"""

from attunebench.reports.html.page import BUDGET, render_html

__all__ = ["BUDGET", "render_html"]
