"""What a server's words are about, whichever vendor's words they are: money, a day's quota, a rate, length, moderation.

`names_…` know a vendor's own codes and sentences, `speaks_of_…` read any words by their meaning and are tested against
many vendors' sentences (tests/backends/test_wording.py). Texts in, yes or no out; which of the meanings counts under
which status is decided by the table of `faults`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Meaning = Callable[[str], bool]


def _any(*expressions: str) -> Meaning:
    compiled = re.compile("|".join(expressions), re.IGNORECASE | re.DOTALL)
    return lambda text: compiled.search(text) is not None


# Codes and sentences that are known, each of one meaning.

names_long_input: Meaning = _any(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model'?s?) context|context (length|window|size)",
    r"input length exceeds|prompt is too long|input is too long|too many (input |prompt )?tokens",
    r"longer than the (specified )?maximum (model|sequence) length",
)
names_large_request: Meaning = _any(r"request too large|payload too large|request entity too large")
names_moderation: Meaning = _any(r"content_filter|content_policy_violation|content management policy")
names_bad_key: Meaning = _any(
    r"invalid_api_key|incorrect api key|api key not valid|invalid (api key|authentication)",
    r"无效的?令牌|令牌.{0,6}(无效|过期)",
)
names_missing_model: Meaning = _any(
    r"model_not_found|model.{0,80}(not found|does not exist|not exist)|(not a valid|invalid|unknown|no such) model",
    r"model.{0,80}(deprecated|retired|decommissioned|discontinued|no longer (available|supported)|not activated)",
    r"no endpoints found|model_?(not_?open|decommissioned)|deployment_?not_?found|模型.{0,60}不存在",
)
names_privacy: Meaning = _any(r"data policy|privacy|guardrail")
names_wrong_path: Meaning = _any(r"unexpected endpoint|invalid url|unknown (endpoint|route)|cannot post|no route")
names_rate: Meaning = _any(r"rate.?limit|too many requests|throttl|slow.?down")
names_loading: Meaning = _any(
    r"loading model|model\b.{0,80}\b(is|still|currently|being) (being |still |currently )?load(ing|ed)",
    r"(is|still|currently) loading|warming up|still starting",
)
names_limit: Meaning = _any(r"max_(completion_|output_|new_)?tokens")

# What any words may mean.

_LACKING = r"(in[- ]?sufficient|not (enough|sufficient)|n't (have )?(enough|sufficient)"
_GONE = (
    rf"{_LACKING}|too low|exhaust|deplet|empty|negative|used up|run(s|ning)? out|ran out|exceed|expired?|overdue"
    r"|overdrawn|below|reached|unavailable|no (remaining|longer)|spent)"
)
_NO_TOKENS = "".join(f"(?<!{word}[ -])" for word in ("thinking", "reasoning", "token", "context", "output"))
_NOT_TAKEN = r"(?! (was|were|will be|ha(ve|s) been) )"
"""Of a request that was refused some say that no credits were charged."""
_NO_RATE = r"(?!.{0,40}(raise|increase|higher|unlock))"
_MONEY = rf"{_NO_TOKENS}(?<!load[ -])(balance|credits?|funds?|money|budget|wallet)\b"

speaks_of_money: Meaning = _any(
    rf"\b{_LACKING}|low|out of|run out of|no|zero|lack of|exhausted|depleted|negative|over|available)"
    rf"[ _-]+(\w+[ _-]){{0,3}}{_MONEY}{_NOT_TAKEN}",
    rf"\b{_MONEY}.{{0,50}}\b{_GONE}",
    rf"\b{_GONE}.{{0,40}}\b{_NO_TOKENS}(?<!load[ -])(balance|funds|budget|wallet)\b",
    r"requires more credits|(used|spent|consumed|depleted|exceeded) (all|your).{0,40}credits",
    r"insufficient_?(user_?)?quota|insufficient_?balance|budget_?exceeded|max[_ ]budget|exceeded_?budget|wallet_empty",
    r"billing[_ ](hard[_ ])?limit|billing[_ ]?not[_ ]?active|not active, please check your billing",
    r"billing.{0,30}(disabled|inactive|suspended|not (been )?enabled)|requires billing|past invoices|unpaid|past due",
    r"billing_error|(issue|problem)s? with your billing",
    r"payment[_ ](is )?(required|overdue|failed|declined)|\barrear|account_?overdue|overdue (bill|payment|balance)",
    rf"\b(recharge|top[- ]?up) (your|the|account|first|now|and|to continue){_NO_RATE}",
    rf"[,;.] ?(please )?(recharge|top[- ]?up)\b{_NO_RATE}",
    r"(reach|exceed|hit|over)\w*.{0,40}\bspend(ing)? (limit|cap)|\bspend(ing)? (limit|cap).{0,30}(reach|exceed)",
    r"free[- ]?(tier|trial|quota|allowance).{0,60}(exhaust|expired|used up|has ended|is over|consumed)|FreeTierOnly",
    r"(subscription|resource ?package|plan) (has |is )?(expired|ended)|resource_?pack(age)?_?exhausted",
    r"no available resource ?package|good standing",
    r"余额.{0,8}(不足|为零|不够|耗尽)|欠费|充值|额度.{0,6}(不足|用完|用尽|耗尽|不够)",
    r"(资源包|套餐).{0,8}(用完|用尽|耗尽|不足|到期)",
)
"""Money, or credit that was bought, is gone. A server that names money beside a rate ("add credits to raise your rate
limit") does not speak of this."""

speaks_of_quota: Meaning = _any(
    rf"quota.{{0,60}}{_LACKING}|exceed|exhaust|used up|reached|deplet|run out|over)",
    rf"{_LACKING}|exceed|exhaust|used up|reach|over|no (remaining|more))\w*.{{0,40}}"
    r"(?<!check )(quota|usage (limit|cap))",
    r"usage (limit|cap).{0,20}(reach|exceed|hit)|\bkey limit exceeded",
    r"plan and billing|(monthly|weekly) .{0,30}(limit|quota|allowance|cap)|(per|calls? ?/|requests? ?/) ?month",
    r"配额.{0,6}(不足|用完|用尽|耗尽|超)|(本月|每月|月度).{0,12}(上限|限额|用尽)",
)
"""A quota is gone, which may be bought by the month or be a rate by the minute: see `speaks_of_rate`."""

speaks_of_day: Meaning = _any(
    r"\bper[-_ ]?day\b|perday|\bdaily\b|\b[rt]pd\b|(per|in) 86,?400 ?s|byday\b|/ ?day\b|\b24[- ]?h(ours?)?\b",
    r"(每日|每天|当日|今日).{0,12}(上限|限|配额|额度)",
)
"""A limit that is counted by the day."""

speaks_of_rate: Meaning = _any(
    r"rate.?limit|too many requests|throttl|slow.?down|concurren|\b[rtq]p[ms]\b|\bqps\b",
    r"per[-_ ]?(minute|min\b|second|sec\b|hour)|/ ?(min|minute|s|sec|second)\b|(requests?|tokens?)[-_ ]per(\b|_)",
    r"\b(this|each|every|a|one|\d+)[- ]?(minute|min|second|sec)s?\b",
    r"(try|retry)(ing)? (again )?(in|after) \d|限流|频率|并发|每分钟|每秒",
)

_INPUT = r"(context|prompts?|inputs?|sequence|messages?|conversation|request(ed)?|history)"
_TOO_LONG = (
    r"(too (long|large|many|big)|exceed|longer than|larger than|over the|greater than|out of range|overflow|cannot fit"
    r"|must have less than|limit is)"
)
_LENGTH = r"(tokens?|length|characters?|context|window|size)"

speaks_of_long_input: Meaning = _any(
    rf"\b{_INPUT}\b.{{0,80}}\b{_TOO_LONG}.{{0,80}}\b{_LENGTH}",
    rf"\b{_INPUT}\b.{{0,20}}\b{_LENGTH}\b.{{0,20}}\b{_TOO_LONG}",
    rf"\b{_LENGTH}\b.{{0,80}}\b{_TOO_LONG}.{{0,80}}\b{_INPUT}",
    rf"\b{_TOO_LONG}.{{0,60}}\b(context|input|prompt|sequence)\b",
    rf"\b{_INPUT} (is|are|was|were) (too|longer|larger)\b",
    r"context.?(length|window|size|limit)|max_?(seq|model|position)\w*_?len|maximum (model|sequence|prompt|input)",
    r"(range of|maximum|max|allowed) (the )?(input|prompt|context|sequence) (length|tokens?|size)|input length\b",
    r"reduce (the )?(length|size|number) of|reduce (the|your) (prompt|input)",
    r"(shorten|truncate) (the|your) (input|prompt|message|context)",
    r"too many (input |prompt )?tokens|string_too_long|string should have at most",
    r"inputs?`? tokens \+ `?max_(new_)?tokens",
    r"超长|输入.{0,10}(过长|超长|超过|超出|长度)|上下文.{0,10}(过长|超|长度)|输入.{0,24}(之和|总和).{0,8}超",
    r"(超出|超过|超).{0,16}(长度|上下文|token)|(长度|tokens?).{0,8}(超出|超过|超限)",
)
"""The input is longer than the model takes, alone or with the room that was asked for its answer."""

_REFUSED = r"(flagged|rejected|blocked|refused|stopped|filtered|declined)"
_UNSAFE = r"(flagged|inappropriate|sensitive|harmful|unsafe|prohibited|disallowed|not allowed by)"

_speaks_of_safety: Meaning = _any(
    r"content[_ -]?(filter|polic|moderation|management polic|safety|risk|restrict|violat|inspect|block|exists risk)",
    r"data[_ ]?inspection|moderat(ion|ed)|safety_check|\bunsafe\b|guardrail|responsible ai|new_sensitive|prohibited[_ ]"
    r"(content|use)",
    r"safety[_ -](check|system|filter|polic|setting|guideline|violation|reason|guard|risk)|safety_violation",
    r"\b(usage|acceptable use|community|content) (guideline|polic)",
    rf"{_REFUSED}.{{0,60}}(content|safety|us(ag)?e polic|moderation|harm|sensitive|inappropriate)",
    rf"(content|prompt|input|text|request|message)s?\b.{{0,60}}\b{_UNSAFE}",
    r"(violat\w*|against|breach\w*).{0,40}(polic|guideline|terms|safety|rules)",
    r"\b(prompt|input|conversation)s? (was |were |is |been )?blocked",
    r"block(ed|s) (this|the|your) (prompt|input|message)",
    r"content (that|which) (is|are) not (allowed|permitted)|(considered|deemed|rated) (as )?(to be )?(a )?high[- ]risk",
    r"model armor|llama ?guard|\bpii\b",
    r"sensitive (content|word|information|input)|harmful content|violen(t|ce)|self[-_ ]?harm|harassment|jailbreak",
    r"\b(sexual|hate speech|illicit|flagged)\b",
    r"敏感|违规|违禁|不当内容|不合规|不安全|安全(审核|策略|检查|风险)|内容(审核|安全|风险)|风控|审核(策略|失败)|(不|未)通过审核|审核(不|未)通过",
)
_speaks_of_account: Meaning = _any(
    r"\b(account|organi[sz]ation|project|api[ -]?key|your key|user|ip address|billing)\b.{0,60}"
    r"(suspend|disabl|bann|deactivat|terminat|flagged|block|restrict|clos|lock|frozen)",
    r"(suspend|disabl|bann|deactivat|terminat|block|restrict)\w*.{0,40}"
    r"\b(account|organi[sz]ation|project|api[ -]?key|your key)\b",
    r"(organi[sz]ation|account|team|workspace|project)('?s)? polic|账(户|号).{0,10}(封禁|停用|冻结|禁用)",
)


def speaks_of_moderation(text: str) -> bool:
    """Whether one request was refused for what stands in it; an account that was closed for its use is not that."""
    return _speaks_of_safety(text) and not _speaks_of_account(text)


speaks_of_permission: Meaning = _any(
    r"\b(api[ -]?)?keys?\b|credential|authenticat|authoriz|unauthori[sz]ed|\btokens? (is |has |are )?(invalid|expired)",
    r"permission|not (allowed|permitted|entitled|enabled|available) (to|for|in)|access (is )?(denied|forbidden)",
    r"(does not|doesn't|don't|do not|no|not) (\w+ )?(have )?access|subscri|whitelist|allow ?list|\b(scope|role|iam)\b",
    r"account|organi[sz]ation|project|terms of service|agreement|country|region|territory",
    r"无权限|未授权|没有权限|权限不足|账(户|号)",
)
"""The key, the account or the model as a whole may not be used, rather than this one request."""

speaks_of_streams_only: Meaning = _any(
    r"\b(only|must|required?|requires|enable|please|set)\b.{0,40}\bstream(ing)?\b",
    r"\bstream(ing)?\b.{0,40}\b(only|required|must|mandatory)\b",
    r"(non-?stream\w*|without stream\w*|stream ?= ?false).{0,40}(not|un|n't)|不支持非流式|(只|仅)支持流式",
)
"""The server answers by event streams alone."""

_NOT = (
    r"(\bnot\b|n't|\bun(supported|known|expected|recogni[sz]ed)|invalid|disallow\w*|illegal|forbidden|never|\bonly\b)"
)
_ROLE = r"(role|message|prompt|instruction)s?"

rejects_system_role: Meaning = _any(
    rf"\bsystem\W{{0,4}}{_ROLE}\b.{{0,80}}{_NOT}",
    rf"{_NOT}.{{0,60}}\b{_ROLE}\W{{0,4}}(of |is |named |type |value )?\W{{0,3}}system\b",
    rf"{_NOT}.{{0,40}}\bsystem\W{{0,3}}{_ROLE}",
    rf"role.{{0,40}}system.{{0,40}}{_NOT}|role.{{0,20}}{_NOT}.{{0,20}}system",
    rf"developer instruction|roles? must alternate|{_NOT} (message )?role\b",
    r"(first|1st) (message|role|turn).{0,30}(must|should|has to) .{0,20}user|(only|one of).{0,20}user.{0,20}assistant",
    r"不支持.{0,6}system|system.{0,10}(不支持|无效|非法)",
)
"""The model takes no message of the system's."""
