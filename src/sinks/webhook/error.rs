//! What a request that got no answer means: code, and whether the effect may have happened.
//!
//! Until a connection stands nothing was sent; after that nobody knows.

use std::{error::Error, io};

use eddy_contract::{Code, SideEffect};
use eddy_topology::outcome::Outcome;
use hyper_util::client::legacy;

use super::resolver::ResolveError;
use crate::sinks::{chain, failed};

/// Maps an error of the client.
pub(super) fn outcome(error: &legacy::Error) -> Outcome {
    if error.is_connect() {
        failed(connect_code(error), SideEffect::None, chain(error))
    } else {
        failed(exchange_code(error), SideEffect::Unknown, chain(error))
    }
}

fn connect_code(error: &(dyn Error + 'static)) -> Code {
    if find::<ResolveError>(error).is_some() {
        return Code::Dns;
    }
    match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::TimedOut) => Code::Timeout,
        Some(io::ErrorKind::ConnectionReset | io::ErrorKind::ConnectionAborted) => Code::Reset,
        // Unreachable hosts and networks as well: nobody is there.
        _ => Code::Refused,
    }
}

fn exchange_code(error: &(dyn Error + 'static)) -> Code {
    match find::<hyper::Error>(error) {
        Some(error) if error.is_parse() => Code::InvalidAnswer,
        Some(_) | None => Code::Reset,
    }
}

/// The first cause of this type.
fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    std::iter::successors(Some(error), |error: &&'a (dyn Error + 'static)| Error::source(*error))
        .find_map(|error| error.downcast_ref())
}
