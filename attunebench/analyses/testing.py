"""Names of before, until every analysis has moved."""

from attunebench.analyses.sampling import CORRECTIONS as CORRECTIONS
from attunebench.analyses.sampling import beyond_reach as beyond_reach
from attunebench.analyses.sampling import claimed as claimed
from attunebench.analyses.sampling import corrected_p as corrected_p
from attunebench.analyses.sampling import pair_tests as pair_tests
from attunebench.analyses.sampling import plain_correction as plain_correction
from attunebench.analyses.verdicts import reach_text as reach_text
