"""Names of before, until every analysis has moved."""

from attunebench.analyses.verdicts import shared_people_text as shared_people_text
