//! THE table of API keys: how those of a service begin, and what they go on with. `api_key` looks for the beginnings.

/// The signs behind the beginning of a key.
#[derive(Clone, Copy)]
pub(super) enum Signs {
    /// Letters and digits.
    Alphanumeric,
    /// Capital letters and digits.
    Capital,
    /// Small hexadecimal digits.
    Hex,
    /// Letters, digits, `-` and `_`: Base64 of URLs.
    Url,
    /// Base64 of URLs, in parts with dots between them.
    Dotted,
    /// Base64 of either alphabet, with its padding.
    Base64,
}

impl Signs {
    pub(super) fn has(self, byte: u8) -> bool {
        let is_url = || byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match self {
            Self::Alphanumeric => byte.is_ascii_alphanumeric(),
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Hex => byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'),
            Self::Url => is_url(),
            Self::Dotted => is_url() || byte == b'.',
            Self::Base64 => is_url() || matches!(byte, b'+' | b'/' | b'='),
        }
    }
}

/// The keys of a service.
pub(super) struct Form {
    pub(super) prefix: &'static str,
    pub(super) signs: Signs,
    /// Signs behind the beginning.
    pub(super) fewest: usize,
    pub(super) most: usize,
}

const fn form(prefix: &'static str, signs: Signs, fewest: usize, most: usize) -> Form {
    Form {
        prefix,
        signs,
        fewest,
        most,
    }
}

use Signs::{Alphanumeric, Base64, Capital, Dotted, Hex, Url};

/// No prefix begins with another one.
pub(super) const FORMS: &[Form] = &[
    // OpenAI, Anthropic, OpenRouter and others; Groq, xAI, Perplexity, Replicate, Hugging Face.
    form("sk-", Url, 20, 300),
    form("gsk_", Alphanumeric, 36, 100),
    form("xai-", Alphanumeric, 36, 120),
    form("pplx-", Alphanumeric, 36, 100),
    form("r8_", Alphanumeric, 36, 60),
    form("hf_", Alphanumeric, 30, 60),
    // AWS.
    form("AKIA", Capital, 16, 16),
    form("ASIA", Capital, 16, 16),
    // GitHub, GitLab.
    form("ghp_", Alphanumeric, 36, 255),
    form("gho_", Alphanumeric, 36, 255),
    form("ghu_", Alphanumeric, 36, 255),
    form("ghs_", Alphanumeric, 36, 255),
    form("ghr_", Alphanumeric, 36, 255),
    form("github_pat_", Url, 50, 255),
    form("glpat-", Dotted, 20, 80),
    form("glrt-", Url, 20, 80),
    form("gldt-", Url, 20, 80),
    form("glft-", Url, 20, 80),
    form("glsoat-", Url, 20, 80),
    // Slack.
    form("xoxa-", Url, 20, 200),
    form("xoxb-", Url, 20, 200),
    form("xoxe-", Url, 20, 250),
    form("xoxp-", Url, 20, 200),
    form("xoxr-", Url, 20, 200),
    form("xoxs-", Url, 20, 200),
    form("xapp-", Url, 20, 200),
    // Google.
    form("AIza", Url, 35, 35),
    form("ya29.", Url, 40, 300),
    form("GOCSPX-", Url, 24, 40),
    // Stripe, Square, Shopify.
    form("sk_live_", Alphanumeric, 20, 250),
    form("sk_test_", Alphanumeric, 20, 250),
    form("rk_live_", Alphanumeric, 20, 250),
    form("rk_test_", Alphanumeric, 20, 250),
    form("whsec_", Base64, 24, 100),
    form("sq0atp-", Url, 22, 60),
    form("sq0csp-", Url, 22, 60),
    form("shpat_", Hex, 32, 32),
    form("shpca_", Hex, 32, 32),
    form("shppa_", Hex, 32, 32),
    form("shpss_", Hex, 32, 32),
    // Yandex Cloud, VK.
    form("AQVN", Url, 34, 60),
    form("YCAJE", Url, 20, 20),
    form("y0_", Url, 50, 100),
    form("t1.", Dotted, 100, 400),
    form("vk1.a.", Url, 60, 300),
    // Clouds, package registries, mail, vaults, trackers, monitoring.
    form("dop_v1_", Hex, 64, 64),
    form("doo_v1_", Hex, 64, 64),
    form("dapi", Hex, 32, 32),
    form("AccountKey=", Base64, 60, 100),
    form("npm_", Alphanumeric, 36, 36),
    form("pypi-AgE", Url, 50, 300),
    form("dckr_pat_", Url, 20, 60),
    form("SG.", Dotted, 50, 90),
    form("key-", Hex, 32, 32),
    form("hvs.", Url, 24, 200),
    form("hvb.", Url, 24, 200),
    form("dp.pt.", Alphanumeric, 40, 60),
    form("ATATT3", Base64, 40, 250),
    form("lin_api_", Alphanumeric, 32, 60),
    form("ntn_", Alphanumeric, 40, 60),
    form("glsa_", Url, 40, 60),
    form("NRAK-", Capital, 27, 27),
    form("sbp_", Hex, 40, 40),
    form("mon_", Url, 40, 60),
    // A JSON Web Token: see `api_key`.
    form(JWT, Dotted, 40, 4_000),
    // A bot of Telegram, whose number stands before it.
    form(TELEGRAM, Url, 32, 34),
];

/// `{"` in Base64, as every JSON Web Token begins.
pub(super) const JWT: &str = "eyJ";
/// Behind the number of a bot.
pub(super) const TELEGRAM: &str = ":AA";
