"""What servers say in their own words, vendor by vendor, and what it has to mean: under which rule it falls.

The sentences are in the style of each vendor's errors. `known`: whether the model has answered at this address before.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import SecretStr

from attunebench.backends.base import Request
from attunebench.backends.caught import located
from attunebench.backends.faults import Fault, means, rule_for
from attunebench.backends.negotiation import adapted, first_terms
from attunebench.backends.providers import Endpoint
from attunebench.backends.wire import outcome_of
from attunebench.protocol.calls import Asked as CallAsked
from attunebench.protocol.calls import Call, Message

ENDPOINT = Endpoint("openrouter", "some/model", "https://host.example/v1", SecretStr("no-secret"), "none")


def fault(status: int, body: Any, *, known: bool = True) -> Fault:
    """What is made of a response."""
    made = outcome_of(status, body.encode() if isinstance(body, str) else json.dumps(body).encode())
    assert isinstance(made, Fault), "the body was read as an answer"
    return located(made, ENDPOINT, answered=known, reask=0)


def error(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


MONEY = [
    (400, error("Your credit balance is too low to access the API. Please go to Plans & Billing", type="invalid")),
    (
        429,
        error(
            "You exceeded your current quota, please check your plan and billing details.", code="insufficient_quota"
        ),
    ),
    (429, error("You exceeded your current quota, please check your plan and billing details.")),
    (401, error("Your account has insufficient balance")),
    (402, error("Insufficient Balance", type="unknown_error")),
    (403, error("Insufficient account balance. Please top up your account to continue.")),
    (403, {"code": 30001, "message": "Sorry, your account balance is insufficient", "data": None}),
    (429, error("余额不足或无可用资源包,请充值。", code="1113")),
    (429, error("Arrears", code=1113)),
    (200, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}),
    (200, {"id": "x", "choices": None, "base_resp": {"status_code": 1008, "status_msg": "no funds"}}),
    (200, {"status": {"code": 1008, "message": "insufficient balance"}}),
    (200, {"code": 1113, "msg": "Your account is in arrears", "success": False}),
    (500, error("insufficient balance (1008)", type="api_error")),
    (503, error("用户额度不足, 剩余额度: -0.3", code="insufficient_user_quota")),
    (400, error("Access denied, please make sure your account is in good standing.", code="Arrearage")),
    (403, error("The free tier of the model has been exhausted.", code="AllocationQuota.FreeTierOnly")),
    (403, error("Your account has an overdue balance. Please pay", code="AccountOverdueError")),
    (429, error("Budget has been exceeded! Current cost: 10.2, Max budget: 10.0", type="budget_exceeded")),
    (400, error("ExceededBudget: End User=u over budget. Spend=3.2, Budget=3.0")),
    (
        429,
        error("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."),
    ),
    (
        412,
        error(
            "Account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices"
        ),
    ),
    (
        429,
        error("Your account u is suspended due to insufficient balance, recharge", type="exceeded_current_quota_error"),
    ),
    (402, error("This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens")),
    (402, error("Key limit exceeded (monthly limit).")),
    (403, error("You have run out of credits. Add a payment method")),
    (400, error("Your team has either used all available credits or reached its monthly spending limit.")),
    (429, error("Billing hard limit has been reached", code="billing_hard_limit_reached")),
    (
        429,
        error(
            "Your account is not active, please check your billing details on our website.", code="billing_not_active"
        ),
    ),
    (402, "Payment Required"),
    (403, error("This API method requires billing to be enabled. Billing is disabled for project")),
    (429, error("You are using a Trial key, which is limited to 1000 API calls / month.")),
    (400, error("账户欠费,请充值后再试")),
    (403, error("The account has no available resource package", code="ResourcePackageExhausted")),
    (400, error("Not enough credits to run this request")),
    (422, error("You've depleted your monthly included credits. Subscribe to PRO")),
    (200, error("Not enough money on the wallet", code="wallet_empty")),
    (
        403,
        error("token quota is not enough, remain: $0.01", type="new_api_error", code="pre_consume_token_quota_failed"),
    ),
    (403, error("Key limit exceeded (total limit).", code=403)),
    (400, error("You have exceeded your monthly included credits")),
    (403, error("There's an issue with your billing", type="billing_error")),
    (429, error("Usage limit reached for your plan. Your limit resets on 2026-12-01")),
    (
        429,
        [{"error": {"code": 429, "message": "Your prepayment credits are depleted.", "status": "RESOURCE_EXHAUSTED"}}],
    ),
    (200, {"error_code": 18, "error_msg": "the account has no remaining credits"}),
    (500, {"Code": "Arrearage", "Message": "Your account is overdue"}),
]
RATES = [
    (
        429,
        error(
            "Rate limit reached for m on requests per min. Limit: 3 / min. Please try again in 20s. Please add a "
            "payment method to your account to increase your rate limit. Visit https://x/account/billing."
        ),
    ),
    (
        429,
        error(
            "Rate limit reached on tokens per minute (TPM): Limit 6000, Used 5800. Please try again in 8s. Need more "
            "tokens? Upgrade to Dev Tier today at https://x/settings/billing",
            code="rate_limit_exceeded",
        ),
    ),
    (429, error("Quota exceeded for quota metric 'Generate Content API requests per minute'")),
    (
        429,
        [
            {
                "error": {
                    "code": 429,
                    "message": "You exceeded your current quota, please check your plan and billing details.",
                    "status": "RESOURCE_EXHAUSTED",
                    "details": [
                        {"violations": [{"quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]},
                        {"retryDelay": "20s"},
                    ],
                }
            }
        ],
    ),
    (429, error("Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model")),
    (429, error("Requests rate limit exceeded, please increase your quota", code="Throttling.RateQuota")),
    (429, error("Allocated quota exceeded, please increase your quota limit.", code="Throttling.AllocationQuota")),
    (429, error("exceeded token rate limit of your current pricing tier. Please retry after 6 seconds.")),
    (429, error("This request would exceed your organization's rate limit of 50,000 input tokens per minute")),
    (429, error("Your account o request reached organization max RPM: 3, please try again after 1 seconds")),
    (429, error("Rate limit reached on requests per day (RPD): Limit 200, Used 200. Please try again in 7m12s.")),
    (429, error("您的账户已达到速率限制,请您控制请求频率", code="1302")),
    (429, error("Too many requests")),
    (429, error("Quota exceeded. Try again in 20 s")),
    (503, error("We are currently experiencing high load: rate limit")),
    (429, error("Rate limit exceeded: free-models-per-min. Add credits to raise it")),
    (429, error("Rate limit exceeded, top up your account to raise it")),
    (429, error("Request quota exceeded for this minute")),
    (429, error("Tokens quota per 60 seconds exceeded")),
    (429, [{"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "X"}}]),
]
DAYS = [
    (429, error("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day")),
    (429, error("Tokens per day limit exceeded - too many tokens processed.")),
    (429, error("Too many tokens per day, please wait before trying again.")),
    (
        429,
        error("Rate limit of 150 per 86400s exceeded for UserByModelByDay. Please wait 39600 seconds before retrying."),
    ),
    (429, error("you have used up your daily free allocation of 10,000 neurons")),
    (429, error("该API已达每日调用限额", code="1304")),
    (403, error("Daily limit reached")),
    (429, error("Quota exceeded: requests per 24 hours")),
    (200, {"error_code": 17, "error_msg": "Open api daily request limit reached"}),
]
MODERATION = [
    (400, error("Output blocked by content filtering policy", type="invalid_request_error")),
    (400, error("Content Exists Risk")),
    (400, error("Output data may contain inappropriate content.", code="DataInspectionFailed")),
    (
        403,
        {
            "code": "The caller does not have permission",
            "error": "Content violates usage guidelines. SAFETY_CHECK_TYPE_BIO",
        },
    ),
    (400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", code="1301")),
    (422, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}),
    (500, error("input new_sensitive (1026)")),
    (
        400,
        error("Your request was rejected as a result of our safety system. It may contain text that is not allowed."),
    ),
    (400, error("The prompt was flagged as potentially violating our usage policy.", code="invalid_prompt")),
    (400, error("Your input contains sexual or violent content")),
    (403, error("Request blocked by guardrail")),
    (451, error("Your prompt violates our acceptable use policy")),
    (400, error("This prompt is considered unsafe", type="safety_violation")),
    (400, error("Sensitive information was detected in the input", code="SensitiveContentDetected")),
    (400, error("输入内容包含违规信息")),
    (422, {"detail": "Prompt rejected: self-harm"}),
    (403, error("Input flagged by moderation: harassment")),
    (400, [{"error": {"code": 400, "message": "The request is blocked for PROHIBITED_CONTENT", "status": "INVALID"}}]),
    (406, {"message": "Refused: harmful content"}),
    (403, error("Your input was flagged. No credits were charged.", code=403, metadata={"reasons": ["violence"]})),
    (403, error("Flagged for unsafe content. No credits were charged.")),
    (446, error("The guardrail checks failed", type="hooks_failed")),
    (200, {"error_code": 336501, "error_msg": "the content is against the safety rules"}),
    (400, error("Request was blocked by Model Armor")),
    (400, error("Prompt blocked due to security configurations")),
    (400, error("The request was rejected because it was considered high risk")),
    (400, error("It may contain content that is not allowed")),
    (400, error("提问或回答命中审核策略", code=10013)),
]
LENGTH = [
    (
        400,
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (41200) exceeds the maximum number of tokens allowed",
                }
            }
        ],
    ),
    (400, error("Range of input length should be [1, 6144]", code="InvalidParameter")),
    (
        400,
        {
            "code": "Client specified an invalid argument",
            "error": "This model's maximum prompt length is 8192 but the request contains 9001 tokens.",
        },
    ),
    (
        400,
        error("Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length"),
    ),
    (400, {"message": "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4500."}),
    (400, error("Please reduce the length of the messages or completion.")),
    (400, error("The input (9100 tokens) is longer than the model's context length (8192 tokens).")),
    (400, error("Input validation error: inputs must have less than 4095 tokens. Given: 5000")),
    (422, {"error": "Input is too long for requested model."}),
    (400, error("input characters limit is 30720")),
    (400, error("Total tokens of image and text exceed max message tokens")),
    (400, error("输入文本过长,超过模型最大长度")),
    (400, error("The prompt is too long: 9000, model maximum context length: 8192")),
    (413, error("Request body too large for the model")),
    (400, error("Your messages exceed the model's window by 900 tokens")),
    (400, error("Conversation history exceeds the token limit")),
    (400, error("Prompt 超长", code="1261")),
    (400, error("Please reduce your prompt; or completion length.")),
    (
        500,
        {"detail": "Token indices sequence length is longer than the specified maximum sequence length: 9000 > 8192"},
    ),
    (200, {"error_code": 336003, "error_msg": "the length of messages exceeds the max input characters"}),
]
OWN = [
    (400, error("upstream failed")),
    (422, error("Unprocessable")),
    (418, ""),
    (404, ""),
    (400, error("Invalid request")),
    (403, "<html><title>Sorry, you have been blocked</title></html>"),
    (409, error("Already exists")),
]
STOPS = [
    (401, error("No auth credentials found")),
    (403, error("You do not have permission to access this model")),
    (403, error("Your API key has been revoked")),
    (403, error("Your account has been flagged for violating our usage policy and is suspended")),
    (403, error("Country, region, or territory not supported")),
    (404, error("The model `m` does not exist")),
    (400, error("some/modell is not a valid model ID")),
    (404, error("No such model")),
    (400, error("The model m has been decommissioned and is no longer supported", code="model_decommissioned")),
    (410, error("The model m has been retired")),
    (400, error("模型 m 不存在", code="1211")),
    (403, error("令牌无效")),
]  # fmt: skip


def named(status: int, body: Any, known: bool = True) -> str:
    return rule_for(fault(status, body, known=known)).name


def _id(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=True)[:60] if isinstance(value, dict | list) else None


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("status", "body"), MONEY, ids=_id)
def test_money_is_money_in_any_words_and_under_any_status(status: int, body: Any, known: bool) -> None:
    assert named(status, body, known) in ("money", "key wanted")
    assert status == 401 or "money" == named(status, body, known)


@pytest.mark.parametrize(("status", "body"), RATES, ids=_id)
def test_a_rate_is_no_money(status: int, body: Any) -> None:
    assert "rate" == named(status, body)


@pytest.mark.parametrize(("status", "body"), DAYS, ids=_id)
def test_a_days_limit_is_neither_money_nor_a_rate(status: int, body: Any) -> None:
    assert "day" == named(status, body)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("status", "body"), MODERATION, ids=_id)
def test_moderation_refuses_its_own_call(status: int, body: Any, known: bool) -> None:
    assert "refused" == rule_for(fault(status, body, known=known)).outcome


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("status", "body"), LENGTH, ids=_id)
def test_a_request_that_is_too_long_gets_no_answer(status: int, body: Any, known: bool) -> None:
    assert "item" == rule_for(fault(status, body, known=known)).outcome


@pytest.mark.parametrize(("status", "body"), OWN, ids=_id)
def test_what_nobody_knows_stops_before_the_first_answer_and_skips_after_it(status: int, body: Any) -> None:
    if status != 409:
        assert "stop" == rule_for(fault(status, body, known=False)).outcome
        assert "skip" == rule_for(fault(status, body)).outcome


@pytest.mark.parametrize(
    ("status", "message", "rule"),
    [
        (503, "no healthy load balancer is available", "transient status"),
        (400, "The thinking budget exceeds max_tokens", "limit"),
        (400, "context budget exceeded by the prompt", "too long in other words"),
        (422, "Request violates the JSON schema", "rejected call"),
        (500, "Content management system error", "transient status"),
        (403, "Access prohibited", "rejected call"),
        (403, "This request violates your organization's policy", "forbidden"),
        (403, "Request blocked by security policy", "rejected call"),
        (400, "max_tokens is too large: 9999999", "limit"),
        (429, "Rate limit: your budget of 60 requests per minute is safe", "rate"),
    ],
)
def test_words_that_look_alike_mean_something_else(status: int, message: str, rule: str) -> None:
    known = rule_for(located(fault(status, error(message)), ENDPOINT, answered=False, known=True, reask=0))
    assert rule == known.name


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("status", "body"), STOPS, ids=_id)
def test_key_account_and_model_always_stop(status: int, body: Any, known: bool) -> None:
    assert "stop" == rule_for(fault(status, body, known=known)).outcome
    assert "money" != named(status, body, known)


@pytest.mark.parametrize(
    "message",
    [
        "invalid params, invalid message role: system (2013)",
        "System role not supported",
        "System messages are not allowed for this model",
        "Developer instruction is not enabled for models/x",
        "Conversation roles must alternate user/assistant/user/assistant/...",
        "Unexpected role 'system'. The Messages API accepts a top-level `system` parameter",
        "role 'system' is not supported by this model",
        "The first message must be from the user",
        "Only user and assistant roles are supported!",
        "messages[0].role: system is invalid",
        "'messages[0].role' does not support 'system' with this model.",
        "该模型不支持system角色",
    ],
)
def test_a_system_role_that_is_not_taken_is_recognised(message: str) -> None:
    assert means("no system role", message)


@pytest.mark.parametrize(
    "message",
    ["Internal system error", "The operating system is not available", "temperature is not supported", "Bad request"],
)
def test_other_troubles_are_none_of_the_system_roles(message: str) -> None:
    assert not means("no system role", message)


@pytest.mark.parametrize(
    ("message", "only"),
    [
        ("This model only support stream mode, please enable the stream parameter to access the model.", True),
        ("only stream mode is supported", True),
        ("Stream must be set to true", True),
        ("Non-streaming requests are not supported for this model", True),
        ("Streaming is required for operations that may take longer than 10 minutes", True),
        ("该模型仅支持流式输出", True),
        ("upstream failed", False),
        ("The upstream server must be restarted", False),
    ],
)
def test_a_server_that_only_streams_is_recognised(message: str, only: bool) -> None:
    assert only == means("streams only", message)


LIMIT, ROOM = 4096, 1508
CALL = Call("c/default/draft", "c", "default", 1, "draft", (Message("user", "x"),), CallAsked("draft"), {})


@pytest.mark.parametrize(
    "message",
    [
        "`inputs` tokens + `max_new_tokens` must be <= 4608. Given: 3100 `inputs` tokens and 4096 `max_new_tokens`",
        "input length and `max_tokens` exceed context limit: 3100 + 4096 > 4608, decrease input length or `max_tokens`",
        "input length and `max_tokens` exceed context limit: 3,100 + 4,096 > 4,608",
        "This model's maximum context length is 4608 tokens. However, you requested 7196 tokens (3100 in the messages, "
        "4096 in the completion).",
        "'max_tokens' is too large: 4096. This model's maximum context length is 4608 tokens and your request has 3100 "
        "input tokens (4096 > 4608 - 3100).",
        "Requested token count exceeds the model's maximum context length of 4608 tokens. You requested a total of "
        "7196 tokens: 3100 tokens from the input messages and 4096 tokens for the completion.",
        "This endpoint's maximum context length is 4608 tokens. However, you requested about 7196 tokens (3100 of text "
        "input, 4096 in the output).",
        "This model's maximum context length is 4608 tokens, but you requested 7196 tokens in total.",
        "Requested tokens (7196) exceed context window of 4608",
        "context window is 4608, prompt has 3100 tokens; reduce max_tokens",
        "[2013] context window exceeded: max_tokens(4096) + input(3100) > 4608",
        "max_tokens must be at most 1508: the sum of prompt tokens 3100 and max_tokens must not exceed 4608",
        "输入 3100 与 max_tokens 4096 之和超过上限 4608",
    ],
)
def test_the_room_for_the_answer_is_computed_from_the_numbers(message: str) -> None:
    request = Request(CALL, CALL.messages, max_tokens=LIMIT, temperature=None, seed=None, timeout=1.0)
    terms = adapted(first_terms("local", "auto", None), request, fault(400, error(message)))
    assert terms is not None
    assert ROOM == terms.ceiling
    assert adapted(terms, request, fault(400, error(message))) is None


def test_a_window_as_large_as_the_limit_leaves_room_too() -> None:
    message = "maximum context length is 4096 tokens. However, you requested 5000 tokens (904 in the messages, 4096 in"
    request = Request(CALL, CALL.messages, max_tokens=LIMIT, temperature=None, seed=None, timeout=1.0)
    terms = adapted(first_terms("local", "auto", None), request, fault(400, error(message)))
    assert terms is not None
    assert terms.ceiling == 3192
