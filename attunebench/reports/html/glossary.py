"""The words of the page that a reader may not know, each explained in a sentence or two."""

from __future__ import annotations

TERMS: tuple[tuple[str, str], ...] = (
    (
        "Person, original model, evaluated model",
        "A person talked with a chat model (the original model, OM) and labelled every turn of the talk. A model under "
        "test (the evaluated model) reads the same talk and foresees those labels. Its score is how often it is right.",
    ),
    (
        "Composite",
        "The one overall score, from 0 to 100: 24 % emotion tracking, 49 % evaluation of replies, 27 % understanding "
        "of the whole talk. 100 is full agreement with the person.",
    ),
    (
        "Pairwise",
        "Of two replies, which did the person prefer? Guessing gives 0.5.",
    ),
    (
        "Binary OM and Binary HP",
        "Yes/no questions about a reply. OM: did the reply do this? HP: would the person have wanted it to?",
    ),
    (
        "Interval, written [low, high]",
        "The score comes from a sample of conversations. Had others of the same kind been drawn, it would be a little "
        "different; a 95 % interval covers the score of the whole kind in 95 of 100 such samples. Narrow is sure, "
        "wide is unsure.",
    ),
    (
        "Told apart",
        "The difference between two models is larger than chance explains. Tested with all comparisons taken into "
        "account (“corrected”), since among many comparisons a few look large by chance alone.",
    ),
    (
        "Tier",
        "The best model and all that are not told apart from it stand in tier 1; the best of the rest and all that are "
        "not told apart from that one in tier 2; and so on. One tier does not mean equal: only that these "
        "conversations are too few to say who is better.",
    ),
    (
        "Places, P(best)",
        "The conversations are drawn again many times from those there are. Places are where a model stands in 95 % of "
        "the draws, P(best) is the share of draws in which it comes first.",
    ),
    (
        "p",
        "How often chance alone would make a difference at least this large, if there were none. Small is convincing; "
        "“corrected” has the number of comparisons taken into account.",
    ),
    (
        "n",
        "How many conversations (or turns, where it says so) stand behind a number.",
    ),
    (
        "Detectable difference",
        "The smallest true difference that a test on this many conversations finds in 80 of 100 cases. A smaller one "
        "may well be there and not be seen.",
    ),
    (
        "Base rate, skill",
        "The base rate always gives the most frequent answer and has read nothing. Skill is how far a score gets from "
        "there (0) to the best possible one (1).",
    ),
    (
        "° behind a number",
        "Under twenty conversations, or a single participant: too little for any claim.",
    ),
    (
        "–",
        "Undefined or not measured. It is never 0.",
    ),
    (
        "Not answered",
        "The model gave no readable answer to this. It counts as wrong, and is shown as such.",
    ),
)
"""Term and explanation, in the order of the page."""
