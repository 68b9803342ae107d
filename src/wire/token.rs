//! A token that was asked for with `POST serviceaccounts/NAME/token`.

use k8s_openapi::api::authentication::v1::TokenRequest;

use object::token::Token;

/// A token that was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Issued {
    /// The request with its answer, but for the token.
    pub request: TokenRequest,
    /// The token.
    pub token: Token,
}

impl Issued {
    /// The request with its answer.
    pub fn whole(&self) -> TokenRequest {
        let mut request = self.request.clone();
        request.status.get_or_insert_default().token = Some(self.token.text());
        request
    }
}
