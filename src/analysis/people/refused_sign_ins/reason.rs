//! The closed list of reasons for refusing a sign-in, and the reason of an error. The pages translate them.

use crate::analysis::people::oidc::{AccessDenied, OidcError};

/// Why a sign-in was refused, by its name in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    UnknownName,
    WrongPassword,
    WrongCode,
    AccountDisabled,
    ProviderUnreachable,
    ProviderAnswer,
    ProviderRefused,
    DeniedAtProvider,
    TokenRefused,
    NotBegunHere,
    OtherDomain,
    NoAccount,
    NameTaken,
}

impl Reason {
    pub(crate) const ALL: [Self; 13] = [
        Self::UnknownName,
        Self::WrongPassword,
        Self::WrongCode,
        Self::AccountDisabled,
        Self::ProviderUnreachable,
        Self::ProviderAnswer,
        Self::ProviderRefused,
        Self::DeniedAtProvider,
        Self::TokenRefused,
        Self::NotBegunHere,
        Self::OtherDomain,
        Self::NoAccount,
        Self::NameTaken,
    ];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::UnknownName => "unknown_name",
            Self::WrongPassword => "wrong_password",
            Self::WrongCode => "wrong_code",
            Self::AccountDisabled => "account_disabled",
            Self::ProviderUnreachable => "provider_unreachable",
            Self::ProviderAnswer => "provider_answer",
            Self::ProviderRefused => "provider_refused",
            Self::DeniedAtProvider => "denied_at_provider",
            Self::TokenRefused => "token_refused",
            Self::NotBegunHere => "not_begun_here",
            Self::OtherDomain => "other_domain",
            Self::NoAccount => "no_account",
            Self::NameTaken => "name_taken",
        }
    }

    pub(crate) fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == word)
    }
}

impl From<&OidcError> for Reason {
    fn from(error: &OidcError) -> Self {
        match error {
            OidcError::Unreachable(_) | OidcError::Busy => Self::ProviderUnreachable,
            OidcError::Answer(_) | OidcError::Metadata(_) => Self::ProviderAnswer,
            OidcError::Refused(..) => Self::ProviderRefused,
            OidcError::Denied(_) => Self::DeniedAtProvider,
            OidcError::Token(_) => Self::TokenRefused,
            OidcError::Stale => Self::NotBegunHere,
            OidcError::AccessDenied(AccessDenied::OtherDomain) => Self::OtherDomain,
            OidcError::AccessDenied(AccessDenied::NoAccount) => Self::NoAccount,
            OidcError::AccessDenied(AccessDenied::NameTaken) => Self::NameTaken,
            OidcError::AccessDenied(AccessDenied::Disabled) => Self::AccountDisabled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_word_of_its_own() {
        for reason in Reason::ALL {
            assert_eq!(Reason::from_word(reason.as_str()), Some(reason));
        }
        assert_eq!(Reason::from_word("odd"), None);
    }
}
