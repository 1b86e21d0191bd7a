//! How a webhook is set up, and every way that can be wrong.

use std::time::Duration;

use hyper::{
    Uri,
    header::{self, HeaderName, HeaderValue},
};

/// Headers that the sink or the protocol sets itself.
const RESERVED: [HeaderName; 12] = [
    super::IDEMPOTENCY_KEY,
    super::TRACEPARENT,
    super::EDDY_ID,
    super::EDDY_ATTEMPT,
    super::EDDY_REPLAYED,
    header::HOST,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::CONNECTION,
    header::UPGRADE,
    header::TE,
    header::EXPECT,
];

/// The shortest secret that is looked for in messages; shorter ones would be found everywhere.
const SECRET_BYTES_MIN: usize = 6;

/// What a [`Webhook`](super::Webhook) needs to know.
#[derive(Clone)]
pub struct Settings {
    pub name: String,
    pub url: String,
    /// Sent with every request, beside those of the sink. `content-type` and `user-agent` may be replaced.
    pub headers: Vec<Header>,
    /// How long one delivery may take, from the connect to the last byte of the answer.
    pub timeout: Duration,
    /// How long a connect may take.
    pub connect_timeout: Duration,
    /// How many requests, and so connections, there are at once. Further deliveries wait, which must stay well within
    /// the guard's claims: all roads together should rarely have more on their way.
    pub connections_max: usize,
}

/// A header from the configuration. Its value is taken for a secret and never printed.
#[derive(Clone)]
pub struct Header {
    pub(super) name: HeaderName,
    pub(super) value: HeaderValue,
}

/// Why a webhook cannot be set up. No value of a header appears in it.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error("the sink's url is not a URL")]
    NotAUrl(#[source] hyper::http::uri::InvalidUri),
    #[error("the sink's url begins with https://, and this build speaks plain http only")]
    Https,
    #[error("the sink's url begins with neither http:// nor https://")]
    UnknownScheme,
    #[error("the sink's url has no host")]
    NoHost,
    #[error("the sink's url holds credentials")]
    Credentials,
    #[error("`{0}` is not a header's name")]
    HeaderName(String),
    #[error("header `{0}` is set by eddy itself")]
    Reserved(HeaderName),
    #[error("the value of header `{0}` holds a line break or another control character")]
    HeaderValue(HeaderName),
    #[error("`{0}` of a webhook must not be zero")]
    Zero(&'static str),
}

impl SettingsError {
    /// What to do about it, where that is not obvious.
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Https => Some("put a TLS-terminating proxy on this machine and give its http:// address"),
            Self::UnknownScheme | Self::NotAUrl(_) | Self::NoHost => Some("write it as http://host:port/path"),
            Self::Credentials => Some("send them as an `authorization` header, read from the environment or a file"),
            Self::HeaderName(_) | Self::Reserved(_) | Self::HeaderValue(_) | Self::Zero(_) => None,
        }
    }
}

impl Settings {
    /// The defaults for this target.
    pub fn new(name: &str, url: &str) -> Self {
        Self {
            name: name.to_owned(),
            url: url.to_owned(),
            headers: Vec::new(),
            timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(3),
            connections_max: 256,
        }
    }

    /// Where to post to, if all settings can be used.
    pub(crate) fn target(&self) -> Result<Uri, SettingsError> {
        let limits = [
            ("timeout", self.timeout.is_zero()),
            ("connect_timeout", self.connect_timeout.is_zero()),
            ("connections_max", self.connections_max == 0),
        ];
        if let Some((name, _)) = limits.into_iter().find(|(_, zero)| *zero) {
            return Err(SettingsError::Zero(name));
        }
        let target: Uri = self.url.parse().map_err(SettingsError::NotAUrl)?;
        match target.scheme_str() {
            Some("http") => {}
            Some("https") => return Err(SettingsError::Https),
            Some(_) | None => return Err(SettingsError::UnknownScheme),
        }
        let authority = target.authority().ok_or(SettingsError::NoHost)?;
        if authority.as_str().contains('@') {
            return Err(SettingsError::Credentials);
        }
        if authority.host().is_empty() {
            return Err(SettingsError::NoHost);
        }
        Ok(target)
    }
}

impl Header {
    /// Checks and takes a header.
    ///
    /// # Errors
    /// When it is no header, or one that eddy sets itself.
    pub fn try_new(name: &str, value: &str) -> Result<Self, SettingsError> {
        let name: HeaderName = name.parse().map_err(|_| SettingsError::HeaderName(name.to_owned()))?;
        if RESERVED.contains(&name) {
            return Err(SettingsError::Reserved(name));
        }
        let Ok(mut value) = HeaderValue::from_str(value) else {
            return Err(SettingsError::HeaderValue(name));
        };
        value.set_sensitive(true);
        Ok(Self { name, value })
    }

    /// The secret in the value, without a scheme such as `Bearer`, for finding it where it must not be.
    pub(super) fn secret(&self) -> Option<String> {
        let secret = self.value.to_str().ok()?.split_whitespace().last()?;
        (secret.len() >= SECRET_BYTES_MIN).then(|| secret.to_owned())
    }
}

impl std::fmt::Debug for Settings {
    /// Without the URL, whose query may hold a secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, url: _, headers, timeout, connect_timeout, connections_max } = self;
        f.debug_struct("Settings")
            .field("name", name)
            .field("headers", headers)
            .field("timeout", timeout)
            .field("connect_timeout", connect_timeout)
            .field("connections_max", connections_max)
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Header {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: …", self.name)
    }
}
