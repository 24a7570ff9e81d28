"""The scores of one conversation and one result straight from the text of spec 04: dicts, loops, the two files' JSON.

It shares no code with the package and is written to be read beside the text, not to be fast. Values that the result
file cannot hold as they are (out of range, unknown words, emotions outside the twenty) are not answered.
"""

from __future__ import annotations

import math
import re
import unicodedata
from itertools import permutations

from scipy.stats import kendalltau

POSITIVE = "active alert attentive determined enthusiastic excited inspired interested proud strong".split()  # noqa: SIM905
NEGATIVE = "afraid ashamed distressed guilty hostile irritable jittery nervous scared upset".split()  # noqa: SIM905
BRANCHES = ["managing", "perceiving", "facilitating", "understanding"]


def reference(conversation, result, coordinates, categories, fit_options):
    """(metrics, turn metrics by number, pooled by block) as plain dicts; None is undefined or not measured."""
    turns = {}
    pooled = {}
    by_number = {turn["turnNumber"]: turn for turn in result["turns"]}
    present = {key for turn in result["turns"] for key in turn}
    for turn in conversation["turns"]:
        answer = by_number.get(turn["turnNumber"], {})
        values = {"neutral_turn_share": 0.0 if turn["moodShiftTags"] else 1.0}
        values.update(emotions(turn, answer, coordinates) if "em_emotion_tags" in present else {})
        for metric, key, side in BINARY:
            if key in present:
                truth = {
                    j["questionId"]: j[side]
                    for j in turn["annotations"]["binaryJudgements"]
                    if j[side] in ("yes", "no")
                }
                given = answer.get(key) or {}
                right = 0
                for question, value in truth.items():
                    hit = given.get(question) == value
                    right += hit
                    cell = ("t" if hit else "f") + ("p" if hit == (value == "yes") else "n")
                    for name in ("all", categories[question]):
                        counts = pooled.setdefault(metric, {}).setdefault(name, {"tp": 0, "tn": 0, "fp": 0, "fn": 0})
                        counts[cell] += 1
                values[metric] = right / len(truth) if truth else None
        if "em_pairwise_selections" in present:
            values.update(preferences(turn, answer.get("em_pairwise_selections") or {}))
        values.update(drafts(turn, answer, result, "em_drafted_response" in present))
        turns[turn["turnNumber"]] = values
    metrics = {}
    for name in {name for values in turns.values() for name in values}:
        metrics[name] = mean([values.get(name) for values in turns.values()])
    metrics.update(post(conversation, result, fit_options))
    metrics["perspective_gap"] = minus(metrics.get("binary_om_accuracy"), metrics.get("binary_hp_accuracy"))
    metrics["phrasing_gap"] = minus(metrics.get("binary_hp_accuracy"), metrics.get("binary_hp_accuracy_hp"))
    metrics.update(composite(metrics, conversation, result))
    if "calls" in result:
        calls = result["calls"]
        metrics["answered_rate"] = calls["answered_items"] / calls["expected_items"]
        metrics["refusal_rate"] = calls["refused"] / calls["made"]
        metrics["mended_rate"] = calls["mended"] / calls["made"]
    return metrics, turns, {block: rates(counts) for block, counts in pooled.items()}


BINARY = (
    ("binary_om_accuracy", "em_binary_om_assessment", "observedBehavior"),
    ("binary_hp_accuracy", "em_binary_human_prediction", "preferredBehavior"),
    ("binary_om_accuracy_hp", "em_binary_om_assessment_hp", "observedBehavior"),
    ("binary_hp_accuracy_hp", "em_binary_human_prediction_hp", "preferredBehavior"),
)


def mean(values):
    values = [value for value in values if value is not None]
    return math.fsum(values) / len(values) if values else None


def minus(one, other):
    return None if one is None or other is None else one - other


def best(rows, columns, similarity):
    """The largest total over all one-to-one matchings, by trying all of them."""
    if len(rows) > len(columns):
        return best(columns, rows, lambda one, other: similarity(other, one))
    return max(
        sum(similarity(row, column) for row, column in zip(rows, chosen, strict=True))
        for chosen in permutations(columns, len(rows))
    )


def tag_set(tags):
    collapsed = {}
    for tag in tags:
        name, strength = tag["emotion"].lower(), tag["intensity"]
        if name not in POSITIVE + NEGATIVE:
            continue
        if strength is not None and not 1 <= strength <= 7:
            strength = None
        if name not in collapsed or (strength or 0) > (collapsed[name] or 0):
            collapsed[name] = strength
    return collapsed


def emotions(turn, answer, coordinates):
    felt = tag_set(turn["moodShiftTags"])
    listed = answer.get("em_emotion_tags")
    guessed = tag_set(listed) if listed is not None else None
    if guessed is not None and listed and not guessed:
        guessed = None
    names = [
        "emotion_f1", "emotion_va", "emotion_precision", "emotion_recall", "emotion_hit_rate", "emotion_va_intensity",
        "emotion_f1_intensity",
    ]  # fmt: skip
    values = {"emotion_intensity_mae": None, "neutral_false_alarm": None}
    if guessed is None:
        values.update(dict.fromkeys(names, 0.0))
    elif not felt and not guessed:
        values.update(dict.fromkeys(names, 1.0))
    elif not felt or not guessed:
        values.update(dict.fromkeys(names, 0.0))
    else:
        values.update(both_sides(felt, guessed, coordinates))
    if not felt:
        values["neutral_false_alarm"] = 0.0 if guessed == {} else 1.0
    for name in ("emotion_f1", "emotion_va", "emotion_hit_rate"):
        values[f"{name}_tagged"] = values[name] if felt else None
    return values


def both_sides(felt, guessed, coordinates):
    def similarity(one, other):
        return round(1 - math.dist(coordinates[one], coordinates[other]) / math.sqrt(2), 4)

    def combined(one, other):
        gap = None if felt[one] is None or guessed[other] is None else abs(felt[one] - guessed[other])
        return 0.7 * similarity(one, other) + 0.3 * (0 if gap is None else 1 - gap / 6)

    shared = [name for name in felt if name in guessed]
    gaps = [abs(felt[n] - guessed[n]) for n in shared if felt[n] is not None and guessed[n] is not None]
    precision, recall = len(shared) / len(guessed), len(shared) / len(felt)
    f1 = 2 * precision * recall / (precision + recall) if shared else 0.0
    longer = max(len(felt), len(guessed))
    return {
        "emotion_f1": f1,
        "emotion_precision": precision,
        "emotion_recall": recall,
        "emotion_hit_rate": recall,
        "emotion_va": best(list(felt), list(guessed), similarity) / longer,
        "emotion_va_intensity": best(list(felt), list(guessed), combined) / longer,
        "emotion_f1_intensity": f1 * (mean([1 - gap / 6 for gap in gaps]) or 0.0),
        "emotion_intensity_mae": mean(gaps),
    }


def preferences(turn, selected):
    right, total = 0, 0
    people = dict.fromkeys(("original", "alternate", "human"), 0)
    model = dict(people)
    for index, comparison in enumerate(turn["annotations"]["pairwiseComparisons"]):
        winner = comparison["winner"]
        if winner not in ("A", "B"):
            continue
        total += 1
        right += selected.get(str(index)) == winner
        people[comparison["response" + winner]] += 1
        choice = selected.get(str(index))
        model[comparison["response" + (choice if choice in ("A", "B") else {"A": "B", "B": "A"}[winner])]] += 1
    if not total:
        return {"pairwise_accuracy": None, "kendall_tau": None}
    tau = None
    if len(set(people.values())) > 1 and len(set(model.values())) > 1:
        tau = float(kendalltau(list(people.values()), list(model.values())).statistic)
    return {"pairwise_accuracy": right / total, "kendall_tau": tau}


def words(text):
    return set(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


def overlap(one, other):
    return len(one & other) / len(one | other) if one | other else 1.0


RATED = ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")


def drafts(turn, answer, result, recorded):
    labels = turn["annotations"]
    draft = (answer.get("em_drafted_response") or "").strip() or None
    marks = answer.get("em_draft_judge_scores_by_model") or {}
    votes = answer.get("em_draft_binary_assessment_by_model") or {}
    judged = bool(result["judge_models"]) or any(
        valid_marks(given)
        for other in result["turns"]
        for given in (other.get("em_draft_judge_scores_by_model") or {}).values()
    )
    values = {}
    wishes = {
        j["questionId"]: j["preferredBehavior"]
        for j in labels["binaryJudgements"]
        if j["preferredBehavior"] in ("yes", "no")
    }
    has_draft = draft is not None if recorded else bool(any(map(valid_marks, marks.values())) or any(votes.values()))
    if judged and not has_draft and recorded:
        values["draft_judge"] = 0.0
        values |= {f"draft_judge_{name}": 0.0 for name in RATED}
        values["draft_binary_alignment"] = 0.0 if wishes else None
    elif judged and has_draft:
        whole = mean([mean(valid_marks(given)) for given in marks.values()])
        values["draft_judge"] = None if whole is None else (whole - 1) / 6
        for name in RATED:
            rated = mean([mean(valid_marks({name: given[name]})) for given in marks.values() if name in given])
            values[f"draft_judge_{name}"] = None if rated is None else (rated - 1) / 6
        shares = []
        for given in votes.values():
            met = [given[q] == wish for q, wish in wishes.items() if given.get(q) in ("yes", "no")]
            shares.append(mean(met))
        values["draft_binary_alignment"] = mean(shares)
    if recorded:
        texts = {
            "original": turn["llmResponse"],
            "alternate": labels["alternateResponses"]["llmImproved"],
            "human": labels["alternateResponses"]["humanEdited"],
        }
        shares = {v: 0.0 if draft is None else overlap(words(draft), words(text)) for v, text in texts.items()}
        for variant, share in shares.items():
            values[f"response_similarity_{variant}"] = share
        values["response_similarity_max"] = max(shares.values())
        wins = [c["response" + c["winner"]] for c in labels["pairwiseComparisons"] if c["winner"] in ("A", "B")]
        values["response_preference_alignment"] = mean([shares[variant] for variant in wins])
    return values


def valid_marks(given):
    return [mark for mark in given.values() if mark is not None and 1 <= mark <= 7]


def rates(by_name):
    rated = {}
    for name, c in by_name.items():
        tp, tn, fp, fn = c["tp"], c["tn"], c["fp"], c["fn"]
        root = math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        rated[name] = {
            **c,
            "accuracy": (tp + tn) / (tp + tn + fp + fn),
            "precision": tp / (tp + fp) if tp + fp else 0.0,
            "recall": tp / (tp + fn) if tp + fn else 0.0,
            "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0,
            "mcc": (tp * tn - fp * fn) / root if root else 0.0,
        }
    return rated


def adjusted(pre, after, guess):
    if pre is None or after is None or pre == after:
        return None
    if guess is None:
        return -1.0
    return max(-1.0, min(1.0, (abs(after - pre) - abs(after - guess)) / abs(after - pre)))


def inside(value, low, high):
    return value if value is not None and low <= value <= high else None


def sides(conversation, result):
    """Per side (pre, post, predicted) totals."""
    panas = ((result.get("post_conversation") or {}).get("predicted_post_panas")) or {}
    items = {name.lower(): inside(value, 1, 7) for name, value in (panas.get("items") or {}).items()}
    found = []
    for names, key in ((POSITIVE, "totalPositiveAffect"), (NEGATIVE, "totalNegativeAffect")):
        guess = inside(panas.get(key), 10, 70)
        if all(items.get(name) is not None for name in names):
            guess = sum(items[name] for name in names)
        pre = sum(conversation["prePanas"]["responses"][name] for name in names)
        after = sum(conversation["postPanas"]["responses"][name] for name in names)
        found.append((pre, after, guess))
    return found, items


def same(one, other):
    return other is not None and " ".join(one.split()).casefold() == " ".join(other.split()).casefold()


def post(conversation, result, fit_options):
    values = {}
    if "post_conversation" not in result:
        return values
    block = result["post_conversation"]
    if block is None or "predicted_post_panas" in block:
        totals, items = sides(conversation, result)
        values["panas_baseline_adjusted"] = mean([adjusted(*side) for side in totals])
        off = [60 if guess is None else abs(after - guess) for _, after, guess in totals]
        values["panas_normalized"] = 1 - mean(off) / 60
        before, after = conversation["prePanas"]["responses"], conversation["postPanas"]["responses"]
        off = [6 if items.get(name) is None else abs(after[name] - items[name]) for name in after]
        values["panas_item_normalized"] = 1 - mean(off) / 6
        values["panas_item_baseline_adjusted"] = mean([adjusted(before[n], after[n], items.get(n)) for n in after])
    if block is None or "predicted_conversation_wide" in block:
        wide = (block or {}).get("predicted_conversation_wide") or {}
        values.update(questions(conversation["conversationWideQuestions"], wide, fit_options))
    return values


def questions(truth, guess, fit_options):
    def form(texts):
        return {" ".join(text.split()).casefold() for text in texts}

    goals = guess.get("q1_lookingFor")
    q1 = 0.0 if goals is None else overlap(form(truth["q1_lookingFor"]), form(goals))
    fit = guess.get("q3_modelFit")
    options = [option.casefold() for option in fit_options]
    distance = 3.0
    if fit is not None and fit.casefold() in options:
        distance = float(abs(options.index(truth["q3_modelFit"].casefold()) - options.index(fit.casefold())))
    off, named = truth["q3_followUp_whatFeltOff"], guess.get("q3_followUp_whatFeltOff")
    matched = best(off, named, entry) if off and named else 0.0
    empty = not off and named == []
    together = len(off) + len(named or [])
    soft = 1.0 if empty else matched / (together - matched) if named is not None else 0.0
    errors, branches = [], {}
    for branch in BRANCHES:
        value = inside((guess.get("fourBranchScores") or {}).get(branch), 1, 7)
        errors.append(6 if value is None else abs(truth["fourBranchScores"][branch] - value))
        branches[f"four_branch_{branch}"] = 1 - errors[-1] / 6
    return {
        "q1_goals": q1,
        "q1_goals_f1": 2 * q1 / (1 + q1),
        "q2_clarity": float(same(truth["q2_emotionClarity"], guess.get("q2_emotionClarity"))),
        "q3_fit": float(same(truth["q3_modelFit"], fit)),
        "q3_fit_distance": distance,
        "q3_follow_up": soft,
        "q3_follow_up_asked": soft if off else None,
        "q3_follow_up_false_alarm": None if off else 0.0 if empty else 1.0,
        "q3_follow_up_f1": 1.0 if empty else 2 * matched / together if named is not None else 0.0,
        "four_branch": 1 - mean(errors) / 6,
        **branches,
    }


def entry(one, other):
    if same(one, other):
        return 1.0
    shared = overlap(words(one), words(other))
    return shared if shared >= 0.3 else 0.0


def composite(metrics, conversation, result):
    get = metrics.get
    tracking = mean([get("emotion_f1"), get("emotion_va")])
    binary = mean([get("binary_om_accuracy"), get("binary_hp_accuracy")])
    pairwise = get("pairwise_accuracy")
    mood = None
    if "panas_normalized" in metrics:
        mood = get("panas_baseline_adjusted")
        mood = 0.5 if mood is None else (mood + 1) / 2
    asked = mean([get(name) for name in ("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up")])
    evaluation = share([(0.5, binary), (0.5, pairwise)])
    holistic = share([(0.4, mood), (0.3, asked), (0.3, get("four_branch"))])
    whole = None
    if tracking is not None and evaluation is not None and holistic is not None:
        whole = 100 * (0.24 * tracking + 0.49 * evaluation + 0.27 * holistic)
    return {
        "emotion_tracking": tracking,
        "evaluation_quality": evaluation,
        "holistic_comprehension": holistic,
        "composite": whole,
        "turn_level_average": mean([tracking, binary, pairwise]),
        "conversation_wide_average": mean([mood, asked, get("four_branch")]),
    }


def share(terms):
    terms = [(weight, value) for weight, value in terms if value is not None]
    return sum(w * v for w, v in terms) / sum(w for w, _ in terms) if terms else None
